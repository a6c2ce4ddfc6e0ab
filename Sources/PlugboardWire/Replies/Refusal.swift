// A client's mistake, which becomes an error line. The code that finds the mistake makes the refusal.
// Good requests never make one, so it may hold strings.

/// Why a request was refused.
public struct Refusal: Error, Equatable, Sendable {
    public var code: ErrorCode
    /// For a person. It may change between versions.
    public var message: String
    /// What to do instead; nil if that is unknown.
    public var hint: String?
    /// The offset of the mistake in the line.
    public var offset: Int?
    /// The index of the mistaken write in a batch's `writes`.
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

    /// The refusal of text that isn't JSON.
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

    /// The same refusal, for one write of a batch.
    public func ofWrite(_ index: Int) -> Refusal {
        var copy = self
        copy.write = index
        return copy
    }
}
