// Spans of bytes that the broker keeps in memory of its own. They don't follow who owns the
// memory: they are used up before it can change, as their owners say. To go with the addresses.

import PlugboardMemory

extension Span where Element == UInt8 {
    @_lifetime(immortal)
    init(kept bytes: UnsafeRawBufferPointer) {
        self = _overrideLifetime(Span(_unsafeBytes: bytes), copying: ())
    }

    @_lifetime(immortal)
    init(kept bytes: UnsafeMutableRawBufferPointer) {
        self.init(kept: UnsafeRawBufferPointer(bytes))
    }

    @_lifetime(immortal)
    init(kept start: UnsafeRawPointer?, count: Int) {
        self.init(kept: UnsafeRawBufferPointer(start: start, count: count))
    }

    /// The same bytes where whoever lends them can't say for how long.
    var kept: Span<UInt8> {
        @_lifetime(immortal)
        get { Span(kept: raw) }
    }

    /// The address of the bytes.
    var raw: UnsafeRawBufferPointer { withUnsafeBytes { $0 } }

    func isEqual(to bytes: [UInt8]) -> Bool { isEqual(to: bytes.span) }
}

extension Array where Element == UInt8 {
    var seededHash: UInt64 { span.seededHash }
}

extension List {
    /// The elements; valid until the next change.
    @inline(__always) var elements: UnsafeBufferPointer<Element> {
        span.withUnsafeBufferPointer { $0 }
    }

    /// The same, to be changed in place.
    @inline(__always) var mutableElements: UnsafeMutableBufferPointer<Element> {
        UnsafeMutableBufferPointer(mutating: elements)
    }
}

extension UnsafeMutableRawBufferPointer {
    /// New memory with these bytes.
    static func copy(of bytes: Span<UInt8>) -> UnsafeMutableRawBufferPointer {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        memory.copyMemory(from: bytes.raw)
        return memory
    }
}
