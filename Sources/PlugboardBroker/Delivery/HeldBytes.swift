// Bytes that several subscriptions are owed: a value that observers saw last, kept
// once for all of them until each has been told of the next. Counted by hand.

typealias HeldBytesReference = UnsafeMutablePointer<HeldBytes>

/// A shared copy of some bytes.
struct HeldBytes {
    private let memory: UnsafeMutableRawBufferPointer
    private var references = 1

    @inline(__always) var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

    /// Copies bytes, with one reference, the caller's.
    static func make(_ bytes: UnsafeRawBufferPointer) -> HeldBytesReference {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        memory.copyMemory(from: bytes)
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
