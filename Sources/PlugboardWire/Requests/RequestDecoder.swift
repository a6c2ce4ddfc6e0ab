// From one line's bytes to a request, in a single pass: fields are found, strings
// that matter are decoded in place, the value is validated and left alone. A line
// that is malformed anywhere is refused as such; else the first mistake in it is told.

import PlugboardMemory

/// Decodes lines. One per thread; it keeps its memory from line to line.
public struct RequestDecoder: ~Copyable {
    private var reader: EnvelopeReader

    public init() {
        reader = EnvelopeReader()
    }

    /// The writes of a `batch`, or the one in `write`.
    public var writes: [Request] { reader.writes }
    /// The texts of `keys`.
    public var patterns: [ByteRange] { reader.patterns }
    /// The fields that few requests have.
    public var options: RequestOptions { reader.options }
    /// What `where` says.
    public var conditions: Conditions? { reader.conditions }
    /// The parts that `fields` names.
    public var parts: JSONPointerSet? { reader.parts }

    /// Decodes a line without its line feed. The bytes of decoded strings change in place.
    /// The results hold until the next call; after a refusal, `request` has what was read
    /// (its `id`).
    public mutating func decode(
        _ line: inout MutableSpan<UInt8>,
        into request: inout Request
    ) throws(Refusal) {
        if decodePlain(line.span, into: &request) { return }
        try decodeUnusual(&line, into: &request)
    }

    /// Decodes a line of the commonest kind, whose request needs nothing of the decoder's and
    /// holds as long as the line does. False where it is not of that kind.
    public mutating func decodePlain(_ line: Span<UInt8>, into request: inout Request) -> Bool {
        reader.reset()
        request = Request()
        return request.readPlain(line)
    }

    /// Decodes a line that is not plain.
    public mutating func decodeUnusual(
        _ line: inout MutableSpan<UInt8>,
        into request: inout Request
    ) throws(Refusal) {
        reader.reset()
        request = Request()
        if let first = line.span.first, first != UInt8(ascii: "{"), !JSONScanner.isWhitespace(first) {
            request.isShorthand = true
            try reader.readShorthand(line.span, into: &request)
        } else {
            try decodeJSON(LineCursor(line._mutatingExtracting(line.indices)), into: &request)
        }
    }

    /// Whether a line holds nothing to execute: blank, or a comment.
    @inlinable
    @inline(__always)
    public static func isIgnored(_ line: Span<UInt8>) -> Bool {
        line.isEmpty || (line[0] != UInt8(ascii: "{") && isBlankOrComment(line))
    }

    @usableFromInline
    static func isBlankOrComment(_ line: Span<UInt8>) -> Bool {
        var scanner = JSONScanner(line)
        scanner.skipWhitespace()
        return scanner.isAtEnd || line.first == UInt8(ascii: "#")
    }

    @inline(__always)
    private mutating func decodeJSON(
        _ line: consuming LineCursor,
        into request: inout Request
    ) throws(Refusal) {
        do throws(JSONFailure) {
            line.skipWhitespace()
            var check = reader.begin(line)
            while try !reader.read(&line, &check, into: &request) {
                try reader.readWrites(&line)
            }
            line.skipWhitespace()
            guard line.isAtEnd else { throw line.syntax("nothing more after the object") }
        } catch {
            throw Refusal(error)
        }
        if let complaint = reader.complaint { throw complaint.refusal }
    }
}
