// Events for tests of what has no connection: made from the broker's own lines.

import TestSupport

@testable import PlugboardClient

/// An event as the broker would have told it.
func event(_ line: String) throws -> Event {
    let bytes = Array(line.utf8)
    guard let places = LinePlaces(bytes.span), let event = Event(places, bytes.span) else {
        throw NeverHappened(description: "an event from \(line)")
    }
    return event
}
