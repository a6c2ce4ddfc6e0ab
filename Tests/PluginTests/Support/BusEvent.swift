// Events for tests without a connection, made from the broker's own lines.

@testable import PlugboardClient

/// An event as the broker would send it.
func event(_ line: String) throws -> Event {
    let event = try Event(BrokerLine(Array(line.utf8).span), Array(line.utf8).span)
    guard let event else { throw NeverHappened(description: "an event from \(line)") }
    return event
}
