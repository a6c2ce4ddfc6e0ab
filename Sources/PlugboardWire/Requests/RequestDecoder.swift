// From one line's bytes to a request, in a single pass: fields are found, strings
// that matter are decoded in place, the value is validated and left alone. A line
// that is malformed anywhere is refused as such; else the first mistake in it is told.

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
        _ line: UnsafeMutableRawBufferPointer,
        into request: inout Request
    ) throws(Refusal) {
        if decodePlain(UnsafeRawBufferPointer(line), into: &request) { return }
        try decodeUnusual(line, into: &request)
    }

    /// Decodes a line of the commonest kind, whose request needs nothing of the decoder's and
    /// holds as long as the line does. False where it is not of that kind.
    public mutating func decodePlain(_ line: UnsafeRawBufferPointer, into request: inout Request) -> Bool {
        reader.reset()
        request = Request()
        return request.readPlain(line)
    }

    /// Decodes a line that is not plain.
    public mutating func decodeUnusual(
        _ line: UnsafeMutableRawBufferPointer,
        into request: inout Request
    ) throws(Refusal) {
        reader.reset()
        request = Request()
        if let first = line.first, first != UInt8(ascii: "{"), !JSONScanner.isWhitespace(first) {
            request.isShorthand = true
            try reader.readShorthand(UnsafeRawBufferPointer(line), into: &request)
        } else {
            try decodeJSON(line, into: &request)
        }
    }

    /// Whether a line holds nothing to execute: blank, or a comment.
    @inlinable
    @inline(__always)
    public static func isIgnored(_ line: UnsafeRawBufferPointer) -> Bool {
        line.isEmpty || (line[0] != UInt8(ascii: "{") && isBlankOrComment(line))
    }

    @usableFromInline
    static func isBlankOrComment(_ line: UnsafeRawBufferPointer) -> Bool {
        line.first == UInt8(ascii: "#") || line.allSatisfy { JSONScanner.isWhitespace($0) }
    }

    @inline(__always)
    private mutating func decodeJSON(
        _ line: UnsafeMutableRawBufferPointer,
        into request: inout Request
    ) throws(Refusal) {
        var scanner = JSONScanner(UnsafeRawBufferPointer(line))
        do throws(JSONFailure) {
            scanner.skipWhitespace()
            var check = reader.begin(scanner)
            while try !reader.read(&scanner, line, &check, into: &request) {
                try reader.readWrites(&scanner, line)
            }
            scanner.skipWhitespace()
            guard scanner.isAtEnd else { throw scanner.syntax("nothing more after the object") }
        } catch {
            throw Refusal(error)
        }
        if let complaint = reader.complaint { throw complaint.refusal }
    }
}
