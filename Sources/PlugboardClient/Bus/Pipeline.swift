// Writes whose answers nobody waits for, for high rates. A call costs no round trip and no task switch,
// and one system call sends many writes.

import PlugboardWire

/// The writes of a bus without waiting for their answers.
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
        try link.enqueue(ObjectWriter(write))
    }

    /// Makes all writes as one revision, or none.
    public func batch(_ build: (Batch) throws -> Void) throws {
        let batch = Batch()
        try build(batch)
        try link.enqueue(.batch(batch.writes))
    }

    /// Waits until the outbox is at most half full. Throws without a connection.
    public func room() async throws {
        try await link.room()
    }
}
