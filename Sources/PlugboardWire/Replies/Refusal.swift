// What a peer did wrong, as a value that becomes an error line. Made only off the
// path of good requests, so it may hold strings.

/// Why a request was refused.
public struct Refusal: Error, Equatable, Sendable {
    public var code: ErrorCode
    /// For a person; may change between versions.
    public var message: String
    /// What to do instead, where that is known.
    public var hint: String?
    /// The byte offset in the line that this is about.
    public var offset: Int?
    /// The index in a batch's `writes` that this is about.
    public var write: Int?
    /// The key's current revision, with `conflict`.
    public var revision: UInt64?
    /// The subscription's name as JSON, with `duplicate_sub` and `unknown_sub`.
    public var sub: String?

    public init(_ code: ErrorCode, _ message: String, hint: String? = nil, at offset: Int? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
        self.offset = offset
    }

    /// The refusal that a scanner's failure becomes.
    public init(_ failure: JSONFailure) {
        switch failure.kind {
        case .syntax:
            self.init(.badJSON, "not JSON: expected \(failure.reason)", at: failure.offset)
        case .encoding:
            self.init(.badUTF8, "not UTF-8: expected \(failure.reason)", at: failure.offset)
        case .depth:
            let message = "a value nests at most \(Limits.depthMax) arrays and objects"
            self.init(.tooDeep, message, at: failure.offset)
        }
    }

    /// The same refusal, said of one write of a batch.
    public func ofWrite(_ index: Int) -> Refusal {
        var copy = self
        copy.write = index
        return copy
    }
}
