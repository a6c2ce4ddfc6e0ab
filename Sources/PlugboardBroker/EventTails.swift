// The shared part of one event, in each form that an observer of it wants: encoded
// at most once a form, then copied to however many observers there are.

import PlugboardWire

/// The encoded forms of the event under way.
struct EventTails: ~Copyable {
    private let buffers: UnsafeMutablePointer<ByteBuffer>

    init() {
        buffers = .allocate(capacity: EventKind.count)
        for index in 0..<EventKind.count { (buffers + index).initialize(to: ByteBuffer()) }
    }

    deinit {
        buffers.deinitialize(count: EventKind.count)
        buffers.deallocate()
    }

    /// The bytes of a form that `encode` was asked for.
    @inline(__always)
    func bytes(_ kind: EventKind) -> UnsafeRawBufferPointer {
        buffers[Int(kind.rawValue)].bytes
    }

    /// Encodes the forms whose bits are set in `kinds`.
    @inline(__always)
    func encode(_ tail: EventTail, kinds: UInt8) {
        for rawValue in 0..<UInt8(EventKind.count) where kinds & 1 << rawValue != 0 {
            let kind = EventKind(rawValue: rawValue)
            var form = tail
            if !kind.hasOld { form.old = nil }
            if !kind.hasValue { form.value = nil }
            buffers[Int(rawValue)].removeAll()
            EventEncoder.appendTail(form, to: &buffers[Int(rawValue)])
        }
    }
}
