// Writes without an answer, for high rates: one call costs no round trip and no task
// switch, and many calls leave in one system call.

/// The pipelined form of a bus's writes: the same verbs, nothing to wait for.
///
/// ```swift
/// for number in 1...100_000 {
///     try bus.pipeline.publish("counter", number)
///     if number % 1_000 == 0 { try await bus.pipeline.room() }
/// }
/// try await bus.sync()
/// ```
/// A verb returns when the write is in the outbox. It throws `.outboxFull` where that has
/// no room, `.disconnected` (or `.noBroker`) without a connection, `.closed`. What the
/// broker refuses is told by `Bus.onFault`. Whether all arrived is known after `Bus.sync()`.
public struct Pipeline: WriteTarget, Sendable {
    let link: Link

    public func add(_ write: Write) throws {
        try link.enqueue(RequestBody(write))
    }

    /// All writes or none, as one revision.
    public func batch(_ build: (Batch) throws -> Void) throws {
        let batch = Batch()
        try build(batch)
        try link.enqueue(.batch(batch.writes))
    }

    /// Waits until the outbox is at most half full: then at least as much can be written
    /// before it is full. Without a connection it throws.
    public func room() async throws {
        try await link.room()
    }
}
