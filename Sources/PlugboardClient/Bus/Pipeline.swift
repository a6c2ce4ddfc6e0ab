// Writes without an answer, for high rates: a call costs no round trip and no task switch, and one
// system call sends many writes.

import PlugboardWire

/// The pipelined form of a bus's writes: the same verbs, nothing to wait for.
///
/// ```swift
/// for number in 1...100_000 {
///     try bus.pipeline.publish("counter", number)
///     if number % 1_000 == 0 { try await bus.pipeline.room() }
/// }
/// try await bus.sync()
/// ```
/// A function returns when the write is in the outbox. It throws `.outboxFull` if the outbox has no
/// room, `.disconnected` (or `.noBroker`) without a connection, and `.closed`. `Bus.onFault`
/// reports what the broker refuses. After `Bus.sync()` you know whether all writes arrived.
public struct Pipeline: WriteTarget, Sendable {
    let link: Link

    public func add(_ write: Write) throws {
        try link.enqueue(ObjectText(write))
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
