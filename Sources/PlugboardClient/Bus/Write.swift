// The kinds of writes as values, for batches and for the pipeline. A value is encoded when its write
// is made, so a mistake in it is thrown there. The write takes the ``Cause`` of that moment.

/// One write: publish, emit, patch, add or delete.
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
    /// The value, or the number that is added; nil for a delete.
    public let value: JSON?
    /// The revision that the key must have (0: it must be absent). Otherwise the broker refuses the
    /// write.
    public var ifRevision: Int?
    /// The revision that caused this write: the given one, or the ``Cause`` when the write was made.
    public var cause: Int?
    /// Who wrote it first, for a program that passes on others' writes, such as `cart@hostB`: at most 128 bytes.
    /// Observers get it beside the name of this program.
    public var origin: String?
    /// The part of the value that a patch changes, or that a number is added to: a JSON Pointer; nil for the
    /// whole value.
    public var field: String?
    /// When a published value ends; nil if it stays.
    public var lifetime: Lifetime?
    /// How long a published value stays at most.
    public var ttl: Duration?

    enum Operation: Sendable {
        case publish, emit, patch, add, delete
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

    /// Sends a value to observers without keeping it.
    public static func emit(_ key: String, _ value: some Encodable, cause: Int? = Cause.current) throws
        -> Write
    {
        Write(operation: .emit, key: key, value: try JSON(encoding: value), ifRevision: nil, cause: cause)
    }

    /// Merges `value` into the current value (RFC 7396), or into the part that a JSON Pointer names. What is
    /// null is removed.
    public static func patch(
        _ key: String,
        _ value: some Encodable,
        field: String? = nil,
        ifRevision: Int? = nil,
        cause: Int? = Cause.current
    ) throws -> Write {
        Write(
            operation: .patch,
            key: key,
            value: try JSON(encoding: value),
            ifRevision: ifRevision,
            cause: cause,
            field: field
        )
    }

    /// Adds to a number, or to a part of the value that a JSON Pointer names. What isn't there counts as 0.
    public static func add(
        _ key: String,
        _ number: some Encodable & Numeric,
        field: String? = nil,
        ifRevision: Int? = nil,
        cause: Int? = Cause.current
    ) throws -> Write {
        Write(
            operation: .add,
            key: key,
            value: try JSON(encoding: number),
            ifRevision: ifRevision,
            cause: cause,
            field: field
        )
    }

    /// Deletes a key.
    public static func delete(_ key: String, ifRevision: Int? = nil, cause: Int? = Cause.current) -> Write {
        Write(operation: .delete, key: key, value: nil, ifRevision: ifRevision, cause: cause)
    }
}

/// Accepts writes without answering each one: a ``Pipeline`` or a ``Batch``.
public protocol WriteTarget {
    /// Accepts one write.
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
        try add(.publish(key, value, ifRevision: ifRevision, while: lifetime, ttl: ttl, cause: cause))
    }

    /// Sends a value to observers without keeping it.
    public func emit(_ key: String, _ value: some Encodable, cause: Int? = Cause.current) throws {
        try add(.emit(key, value, cause: cause))
    }

    /// Merges `value` into the current value (RFC 7396), or into the part that a JSON Pointer names.
    public func patch(
        _ key: String,
        _ value: some Encodable,
        field: String? = nil,
        ifRevision: Int? = nil,
        cause: Int? = Cause.current
    )
        throws
    {
        try add(.patch(key, value, field: field, ifRevision: ifRevision, cause: cause))
    }

    /// Adds to a number, or to a part of the value that a JSON Pointer names.
    public func add(
        _ key: String,
        _ number: some Encodable & Numeric,
        field: String? = nil,
        ifRevision: Int? = nil,
        cause: Int? = Cause.current
    ) throws {
        try add(.add(key, number, field: field, ifRevision: ifRevision, cause: cause))
    }

    /// Deletes a key.
    public func delete(_ key: String, ifRevision: Int? = nil, cause: Int? = Cause.current) throws {
        try add(.delete(key, ifRevision: ifRevision, cause: cause))
    }
}

/// The writes of a batch, while they are collected.
public final class Batch: WriteTarget {
    public private(set) var writes: [Write] = []

    init() {}

    public func add(_ write: Write) {
        writes.append(write)
    }
}
