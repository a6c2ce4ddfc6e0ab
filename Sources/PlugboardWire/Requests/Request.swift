// A decoded request: which fields it has, and their places in the line. It contains no bytes, so it is
// useful only together with its line. Fields that few requests have are in `RequestOptions`. So a request
// stays small, which matters because every line copies it.

/// A request, or a write of a batch.
public struct Request: Sendable, BitwiseCopyable {
    public var operation = Operation.sync
    /// Whether it was typed as shorthand. Then it always gets a reply.
    public var isShorthand = false
    public var subIsInteger = false
    /// Whether it has `while` or `ttl`. Then the broker will delete the value.
    public var isBounded = false
    /// Whether it has `durable`. Then the reply waits for the disk.
    public var isDurable = false
    /// The fields that the request has.
    public var fields: FieldSet = []
    /// The `id` as written, with quotes; empty if there is none.
    public var id = ByteRange.none
    /// The decoded text of `key`.
    public var key = ByteRange.none
    /// The JSON of `value` as written.
    public var value = ByteRange.none
    /// The decoded text of `sub`, or its digits if `subIsInteger`.
    public var sub = ByteRange.none
    /// The JSON Pointer in `field`, spelled as a JSON string without its quotes. Shares its place with `sub`,
    /// so that a request stays small: a write has no `sub`.
    public var field: ByteRange {
        get { sub }
        set { sub = newValue }
    }
    /// The revision in `if`.
    public var ifRevision: UInt64 = 0
    /// The revision in `cause`.
    public var cause: WriteCause = .none
    /// The milliseconds in `ttl`.
    public var timeToLive: UInt64 = 0

    @inlinable
    public init() {}

    /// Whether the request has a field.
    @inlinable
    public func has(_ field: Field) -> Bool { fields.has(field) }

    /// Whether success gets a reply. It does, unless the operation is silent and there is no `id`.
    @inlinable
    public var wantsReply: Bool { !id.isEmpty || isShorthand || !operation.isSilent }
}
