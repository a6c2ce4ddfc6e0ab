// Bytes that several subscriptions or clients are owed, kept once for all of them: a value that observers saw
// last, until each was told the next one, or a part of the log.

import PlugboardMemory
import PlugboardWire

/// A shared copy of some bytes.
final class HeldBytes {
    private let copy: [UInt8]

    init(_ bytes: Span<UInt8>) {
        copy = Array(bytes)
    }

    var bytes: [UInt8] { copy }
    var count: Int { copy.count }
}

/// The copies made last. Others that have to wait for the same bytes share them.
struct LatestHeld {
    /// The value before an event, and the number of that event.
    private var old: (event: UInt64, value: HeldBytes)?
    /// A part of the log.
    private var part: (place: ByteRange, bytes: HeldBytes)?

    init() {}

    var hasOld: Bool { old != nil }

    mutating func hold(_ value: Span<UInt8>, before event: UInt64) -> HeldBytes? {
        if value.isEmpty { return nil }
        if let old, old.event == event { return old.value }
        let held = HeldBytes(value)
        old = (event, held)
        return held
    }

    mutating func hold(_ place: ByteRange, of log: borrowing TurnLog) -> HeldBytes {
        if let part, part.place == place { return part.bytes }
        let held = HeldBytes(log.bytes(of: place))
        part = (place, held)
        return held
    }

    /// The turn has ended.
    mutating func forgetOld() { old = nil }

    /// The log starts anew.
    mutating func forgetPart() { part = nil }
}
