// Counts arrivals without parsing them. Whatever a system sends for one message has a known number of
// line feeds or bytes, which the dialect knows. Counting must cost less than the server's work.

import PlugboardMemory

/// What to count, and how many units a message has.
struct Mark: Equatable, Sendable {
    let units: Int
    private let isLines: Bool

    static func lines(_ count: Int) -> Mark { Mark(units: count, isLines: true) }
    static func bytes(_ count: Int) -> Mark { Mark(units: count, isLines: false) }

    /// The number of units in these bytes.
    func units(in bytes: Span<UInt8>) -> Int {
        isLines ? bytes.count(of: 0x0A) : bytes.count
    }

    /// The mark of `count` messages.
    func times(_ count: Int) -> Mark { Mark(units: units * count, isLines: isLines) }
}
