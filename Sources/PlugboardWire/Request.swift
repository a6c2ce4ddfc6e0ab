// A decoded request: which fields were there and where in the line they stand. It
// borrows the line's bytes by offset and is only meaningful beside that line.

/// One request, or one write of a batch.
public struct Request: Sendable {
    public var operation = Operation.sync
    /// Which fields were given.
    public var fields: FieldSet = []
    /// The `id` as it was written, quotes included; empty where there was none.
    public var id = ByteRange.none
    /// The decoded text of `key`.
    public var key = ByteRange.none
    /// The JSON of `value`, untouched.
    public var value = ByteRange.none
    /// The decoded text of `name`.
    public var name = ByteRange.none
    /// The decoded text of `after`.
    public var after = ByteRange.none
    /// The decoded text of `about`.
    public var about = ByteRange.none
    /// The decoded text of `sub`, or its digits where `subIsInteger`.
    public var sub = ByteRange.none
    public var subIsInteger = false
    /// The revision that `if` names.
    public var ifRevision: UInt64 = 0
    /// The revision that `cause` names.
    public var cause: UInt64 = 0
    /// The `limit` of `keys`.
    public var limit = Limits.pageKeysDefault
    public var initial = true
    public var old = false
    public var values = true
    /// Came as words: always answered.
    public var isShorthand = false

    @inlinable
    public init() {}

    /// Whether a field was given.
    @inlinable
    public func has(_ field: Field) -> Bool { fields.has(field) }

    /// Whether success is told: always, except for a write without an `id`.
    @inlinable
    public var wantsReply: Bool { !id.isEmpty || isShorthand || !operation.isWrite }
}
