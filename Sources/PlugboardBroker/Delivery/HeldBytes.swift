// Bytes that several subscriptions are owed: a value that observers saw last, kept
// once for all of them until each has been told of the next. Counted by hand.

import PlugboardMemory

typealias HeldBytesReference = UnsafeMutablePointer<HeldBytes>

/// A shared copy of some bytes.
struct HeldBytes {
    private let memory: UnsafeMutableRawBufferPointer
    private var references = 1

    @inline(__always) var bytes: Span<UInt8> {
        @_lifetime(immortal)
        get { Span(kept: memory) }
    }

    /// Copies bytes, with one reference, the caller's.
    static func make(_ bytes: Span<UInt8>) -> HeldBytesReference {
        let memory = UnsafeMutableRawBufferPointer.copy(of: bytes)
        let reference = HeldBytesReference.allocate(capacity: 1)
        reference.initialize(to: HeldBytes(memory: memory))
        return reference
    }

    static func retain(_ held: HeldBytesReference) {
        held.pointee.references += 1
    }

    static func release(_ held: HeldBytesReference) {
        held.pointee.references -= 1
        guard held.pointee.references == 0 else { return }
        held.pointee.memory.deallocate()
        held.deallocate()
    }

    private init(memory: UnsafeMutableRawBufferPointer) {
        self.memory = memory
    }
}

extension HeldBytes {
    /// Each is referred to as often as it says. `found` counts those who do.
    static func checkInvariants(_ found: [HeldBytesReference: Int]) throws(BrokenInvariant) {
        let always = Invariants(of: "HeldBytes")
        for (held, count) in found {
            try always.agree("they count who refers to them", held.pointee.references, count)
        }
    }
}
