// Events for tests of what has no connection: made from the broker's own lines.

@testable import PlugboardClient

/// An event as the broker would have told it.
func event(_ line: String) throws -> Event {
    let event = try Array(line.utf8).withUnsafeBytes { bytes in try Event(BrokerLine(bytes), bytes) }
    guard let event else { throw NeverHappened(description: "an event from \(line)") }
    return event
}
