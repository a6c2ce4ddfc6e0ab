// A decoded request: which fields were there and where in the line they stand. It
// borrows the line's bytes by offset and is only meaningful beside that line. What few
// requests have is in `RequestOptions`, so that this stays small: every line copies it.

/// One request, or one write of a batch.
public struct Request: Sendable {
    public var operation = Operation.sync
    /// Came as words: always answered.
    public var isShorthand = false
    public var subIsInteger = false
    /// Has `while` or `ttl`: what is written is deleted by itself some time.
    public var isBounded = false
    /// Has `durable`: the reply waits for the disk.
    public var isDurable = false
    /// Which fields were given.
    public var fields: FieldSet = []
    /// The `id` as it was written, quotes included; empty where there was none.
    public var id = ByteRange.none
    /// The decoded text of `key`.
    public var key = ByteRange.none
    /// The JSON of `value`, untouched.
    public var value = ByteRange.none
    /// The decoded text of `sub`, or its digits where `subIsInteger`.
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

    /// Whether success is told: always, except for a write without an `id`.
    @inlinable
    public var wantsReply: Bool { !id.isEmpty || isShorthand || !operation.isSilent }
}
