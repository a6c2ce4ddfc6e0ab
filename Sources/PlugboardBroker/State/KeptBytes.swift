// Spans of bytes that the broker keeps in memory of its own. They don't follow who owns the
// memory: they are used up before it can change, as their owners say. To go with the addresses.

import PlugboardMemory

extension Span where Element == UInt8 {
    @_lifetime(immortal)
    init(kept bytes: UnsafeRawBufferPointer) {
        self = _overrideLifetime(Span(_unsafeBytes: bytes), copying: ())
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

extension ByteBlock {
    /// Its bytes where whoever lends them can't say for how long.
    @inline(__always) var kept: Span<UInt8> {
        @_lifetime(immortal)
        get { bytes.kept }
    }
}

extension List {
    /// A copy of the elements, for what goes on while the list changes.
    var all: [Element] {
        var copy: [Element] = []
        copy.reserveCapacity(count)
        for index in indices { copy.append(self[index]) }
        return copy
    }

    func firstIndex(of element: Element) -> Int? where Element: Equatable {
        indices.first { self[$0] == element }
    }
}
