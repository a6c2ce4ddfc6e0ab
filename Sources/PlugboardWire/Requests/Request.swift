// A decoded request: which fields it has, and their places in the line. It owns no bytes
// and means something only together with its line. Fields that few requests have are in
// `RequestOptions`: this stays small, because every line copies it.

/// One request, or one write of a batch.
public struct Request: Sendable, BitwiseCopyable {
    public var operation = Operation.sync
    /// It came as words, so it always gets a reply.
    public var isShorthand = false
    public var subIsInteger = false
    /// It has `while` or `ttl`: the broker will delete the value by itself.
    public var isBounded = false
    /// It has `durable`: the reply waits for the disk.
    public var isDurable = false
    /// The fields that were given.
    public var fields: FieldSet = []
    /// The `id` as it was written, including quotes; empty if there was none.
    public var id = ByteRange.none
    /// The decoded text of `key`.
    public var key = ByteRange.none
    /// The JSON of `value`, unchanged.
    public var value = ByteRange.none
    /// The decoded text of `sub`, or its digits if `subIsInteger`.
    public var sub = ByteRange.none
    /// The revision that `if` names.
    public var ifRevision: UInt64 = 0
    /// The revision that `cause` names.
    public var cause: WriteCause = .none
    /// The milliseconds of `ttl`.
    public var timeToLive: UInt64 = 0

    @inlinable
    public init() {}

    /// Whether a field was given.
    @inlinable
    public func has(_ field: Field) -> Bool { fields.has(field) }

    /// Whether success gets a reply. It does, except for a silent operation without an `id`.
    @inlinable
    public var wantsReply: Bool { !id.isEmpty || isShorthand || !operation.isSilent }
}
