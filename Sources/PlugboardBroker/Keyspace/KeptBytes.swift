// Spans of bytes that the broker keeps in memory of its own. They don't follow who owns the
// memory. To go when operations are handed rooms instead of the hub.
//
// Why that is safe: only keys, values, authors' and texts' words and the scratch are lent so, and each
// such span is used up within the request or the event that asked for it, before its owner can change.

import PlugboardMemory
import PlugboardWire

extension Span where Element == UInt8 {
    /// The same bytes where whoever lends them can't say for how long.
    var kept: Span<UInt8> {
        @_lifetime(immortal)
        get { unsafe _overrideLifetime(self, copying: ()) }
    }

    func isEqual(to bytes: [UInt8]) -> Bool { isEqual(to: bytes.span) }
}

extension Array where Element == UInt8 {
    var seededHash: UInt64 { span.seededHash }
}

extension EventTail {
    /// The same where its spans are kept.
    var kept: EventTail {
        @_lifetime(immortal)
        get { unsafe _overrideLifetime(self, copying: ()) }
    }
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
}
