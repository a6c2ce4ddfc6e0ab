// Turns the bytes of one line into a request in one pass. It finds the fields, decodes strings in place,
// and checks the value without changing it. If the line isn't valid JSON anywhere, that is the refusal.
// Otherwise the first mistake in the line is.

import PlugboardMemory

/// Decodes lines. Each thread has its own decoder, which keeps its memory between lines.
public struct RequestDecoder: ~Copyable {
    private var reader: EnvelopeReader

    public init() {
        reader = EnvelopeReader()
    }

    /// The writes of a `batch`, or the one in `write`.
    public var writes: [Request] { reader.writes }
    /// The patterns in `keys`.
    public var patterns: [ByteRange] { reader.patterns }
    /// Fields that few requests have.
    public var options: RequestOptions { reader.options }
    /// The conditions in `where`; nil if there are none.
    public var conditions: Conditions? { reader.conditions }
    /// The parts that `fields` names; nil if there is no such field.
    public var parts: JSONPointerSet? { reader.parts }

    /// Decodes a line without its line feed. Changes the bytes of strings with escapes. The results are
    /// valid until the next call, and as long as the line. After a refusal, `request` has what was read,
    /// such as its `id`.
    public mutating func decode(
        _ line: inout MutableSpan<UInt8>, into request: inout Request
    ) throws(Refusal) {
        if decodePlain(line.span, into: &request) { return }
        try decodeUnusual(&line, into: &request)
    }

    /// Decodes a plain line. Returns false if the line isn't plain. The request is valid as long as the
    /// line: it needs no memory of the decoder.
    public mutating func decodePlain(_ line: Span<UInt8>, into request: inout Request) -> Bool {
        reader.reset()
        request = Request()
        // A longer line may have a value that is too long, so it isn't plain.
        return line.count <= Limits.valueBytesMax && request.readPlain(line)
    }

    /// Decodes a line that isn't plain.
    public mutating func decodeUnusual(
        _ line: inout MutableSpan<UInt8>, into request: inout Request
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

    /// Whether the broker ignores a line: it is blank or a comment.
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
        _ line: consuming LineCursor, into request: inout Request
    ) throws(Refusal) {
        var isIndented = false
        do throws(JSONFailure) {
            line.skipWhitespace()
            isIndented = line.current != UInt8(ascii: "{")
            var check = reader.begin(line)
            while try !reader.read(&line, &check, into: &request) {
                try reader.readWrites(&line, of: request.operation)
            }
            line.skipWhitespace()
            guard line.isAtEnd else { throw line.syntax("nothing more after the object") }
        } catch {
            var refusal = Refusal(error)
            if isIndented { refusal.hint = "words and comments begin where the line begins" }
            throw refusal
        }
        if let complaint = reader.complaint { throw complaint.refusal }
    }
}
