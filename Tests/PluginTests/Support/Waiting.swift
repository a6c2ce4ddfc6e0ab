// Waiting in tests: for conditions with a deadline, never for a fixed time.

/// A condition that didn't come true in more than enough time.
struct NeverHappened: Error, CustomStringConvertible {
    let description: String
}

/// Waits until `condition` holds.
func eventually(
    _ what: String,
    within limit: Duration = .seconds(300),
    _ condition: () async throws -> Bool
) async throws {
    let start = ContinuousClock.now
    while try await !condition() {
        guard start.duration(to: .now) < limit else { throw NeverHappened(description: "never: \(what)") }
        try await Task.sleep(for: .milliseconds(2))
    }
}
