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
    // Where `origin` begins, in the bytes that alignment leaves: a request must not grow for a field that few
    // have. An offset in a line of at most 1 MiB fits; the string's end is found again when it is needed.
    @usableFromInline var originPage: UInt8 = 0
    @usableFromInline var originOffset: UInt16 = 0
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

    /// The offset of the opening quote of `origin`, if the request has this field.
    public var originStart: Int {
        get { Int(originPage) << 16 | Int(originOffset) }
        set {
            originPage = UInt8(truncatingIfNeeded: newValue >> 16)
            originOffset = UInt16(truncatingIfNeeded: newValue)
        }
    }

    /// The JSON of `origin` as written, with quotes; empty if the request doesn't have it.
    @inline(never)
    @_lifetime(copy line)
    public func origin(of line: Span<UInt8>) -> Span<UInt8> {
        guard has(.origin) else { return Span() }
        var scanner = JSONScanner(line)
        scanner.position = originStart + 1
        // It was scanned before, when the request was read.
        guard (try? scanner.skipString()) != nil else { return Span() }
        return line[originStart..<scanner.position]
    }

    /// Whether the request has a field.
    @inlinable
    public func has(_ field: Field) -> Bool { fields.has(field) }

    /// Whether a write depends on the present value of its key.
    @inlinable
    public var readsValue: Bool { operation != .publish && operation != .emit || has(.ifRevision) }

    /// Whether success gets a reply. It does, unless the operation is silent and there is no `id`.
    @inlinable
    public var wantsReply: Bool { !id.isEmpty || isShorthand || !operation.isSilent }
}
