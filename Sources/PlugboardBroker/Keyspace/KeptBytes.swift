// Lends bytes that the broker keeps, without a lifetime that the compiler checks. To be removed when
// operations get the rooms that they need instead of the hub.
//
// Why that is safe: these spans lend only keys, values, the texts of authors and events, and scratch memory.
// Each span is used up within the request or the event that asked for it, before its owner can change.

import PlugboardMemory
import PlugboardWire

extension Span where Element == UInt8 {
    /// The same bytes, without a lifetime.
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
    /// The same tail, if its spans are kept.
    var kept: EventTail {
        @_lifetime(immortal)
        get { unsafe _overrideLifetime(self, copying: ()) }
    }
}

extension ByteBlock {
    /// Its bytes, without a lifetime.
    @inline(__always) var kept: Span<UInt8> {
        @_lifetime(immortal)
        get { bytes.kept }
    }
}

extension List {
    /// A copy of the elements, for code that changes the list meanwhile.
    var all: [Element] {
        var copy: [Element] = []
        copy.reserveCapacity(count)
        for index in indices { copy.append(self[index]) }
        return copy
    }
}
