// The four ways of changing what is on the bus, as values: for batches and for the
// pipelined form.

/// One write: publish, emit, patch or delete.
///
/// ```swift
/// try await bus.batch([
///     .publish("cart.items", [String]()),
///     .delete("banner"),
/// ])
/// ```
public struct Write: Sendable {
    let operation: Operation
    /// The key it is about.
    public let key: String
    /// The value; nil for a delete.
    public let value: JSON?
    /// The revision that the key must have (0: it must be absent). Otherwise the broker refuses the
    /// write.
    public var ifRevision: Int?
    /// The revision that caused this write: what was given, or the ``Cause`` at that moment.
    public var cause: Int?
    /// When a published value ends, if it doesn't stay for good.
    public var lifetime: Lifetime?
    /// How long a published value stays at most.
    public var ttl: Duration?

    enum Operation: Sendable {
        case publish, emit, patch, delete
    }

    /// Sets the value of a key.
    /// - Throws: `BusError.unencodable`.
    public static func publish(
        _ key: String,
        _ value: some Encodable,
        ifRevision: Int? = nil,
        while lifetime: Lifetime? = nil,
        ttl: Duration? = nil,
        cause: Int? = Cause.current
    ) throws -> Write {
        Write(
            operation: .publish,
            key: key,
            value: try JSON(encoding: value),
            ifRevision: ifRevision,
            cause: cause,
            lifetime: lifetime,
            ttl: ttl
        )
    }

    /// An event that is not kept.
    public static func emit(_ key: String, _ value: some Encodable, cause: Int? = Cause.current) throws
        -> Write
    {
        Write(operation: .emit, key: key, value: try JSON(encoding: value), ifRevision: nil, cause: cause)
    }

    /// Merges `value` into the current one (RFC 7396): members that are null go.
    public static func patch(
        _ key: String,
        _ value: some Encodable,
        ifRevision: Int? = nil,
        cause: Int? = Cause.current
    ) throws -> Write {
        Write(
            operation: .patch,
            key: key,
            value: try JSON(encoding: value),
            ifRevision: ifRevision,
            cause: cause
        )
    }

    /// Takes a key away.
    public static func delete(_ key: String, ifRevision: Int? = nil, cause: Int? = Cause.current) -> Write {
        Write(operation: .delete, key: key, value: nil, ifRevision: ifRevision, cause: cause)
    }
}

/// A receiver of writes that doesn't answer each one: a ``Pipeline`` or a ``Batch``.
public protocol WriteTarget {
    /// Takes one write.
    func add(_ write: Write) throws
}

extension WriteTarget {
    /// Sets the value of a key.
    public func publish(
        _ key: String,
        _ value: some Encodable,
        ifRevision: Int? = nil,
        while lifetime: Lifetime? = nil,
        ttl: Duration? = nil,
        cause: Int? = Cause.current
    )
        throws
    {
        try add(
            .publish(key, value, ifRevision: ifRevision, while: lifetime, ttl: ttl, cause: cause)
        )
    }

    /// Sends an event that is not kept.
    public func emit(_ key: String, _ value: some Encodable, cause: Int? = Cause.current) throws {
        try add(.emit(key, value, cause: cause))
    }

    /// Merges `value` into the current one (RFC 7396).
    public func patch(
        _ key: String,
        _ value: some Encodable,
        ifRevision: Int? = nil,
        cause: Int? = Cause.current
    )
        throws
    {
        try add(.patch(key, value, ifRevision: ifRevision, cause: cause))
    }

    /// Takes a key away.
    public func delete(_ key: String, ifRevision: Int? = nil, cause: Int? = Cause.current) throws {
        try add(.delete(key, ifRevision: ifRevision, cause: cause))
    }
}

/// The writes of one batch while it is put together.
public final class Batch: WriteTarget {
    /// What was added so far.
    public private(set) var writes: [Write] = []

    init() {}

    public func add(_ write: Write) {
        writes.append(write)
    }
}
