// Counts arrivals without parsing them: whatever a system sends for one message has a known
// number of line feeds or of bytes. The dialect knows that number. Counting must cost less
// than the server's work.

import PlugboardMemory

/// What to count, and how many of it one message makes.
struct Mark: Equatable, Sendable {
    let units: Int
    private let isLines: Bool

    static func lines(_ count: Int) -> Mark { Mark(units: count, isLines: true) }
    static func bytes(_ count: Int) -> Mark { Mark(units: count, isLines: false) }

    /// Counts the units in what arrived.
    func units(in bytes: Span<UInt8>) -> Int {
        isLines ? bytes.count(of: 0x0A) : bytes.count
    }

    /// The mark of so many messages.
    func times(_ count: Int) -> Mark { Mark(units: units * count, isLines: isLines) }
}
