// Events for tests without a connection, made from the broker's own lines.

import TestSupport

@testable import PlugboardClient

/// An event as the broker would send it.
func event(_ line: String) throws -> Event {
    let bytes = Array(line.utf8)
    guard let places = ParsedLine(bytes.span), let event = Event(places, bytes.span) else {
        throw NeverHappened(description: "an event from \(line)")
    }
    return event
}
