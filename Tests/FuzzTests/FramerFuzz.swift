// Lines that arrive in pieces, and requests that are read from lines.

import PlugboardMemory
import PlugboardWire
import Synchronization

enum FramerFuzz {
    /// Keeps its memory from run to run, as in the broker. Tests run in parallel, so it has a lock.
    private static let decoder = Mutex(RequestDecoder())

    /// The first byte is the size of the pieces. The rest is a stream of lines.
    static func run(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let stream = Array(bytes.dropFirst())
        let lines = stream.lines
        checkPieces(stream, lines, size: Int(first % 32) + 1)
        decoder.withLock { decoder in
            for line in lines.prefix(3) { decode(line, &decoder) }
            checkRepeats(stream, lines.prefix(3), &decoder)
        }
    }

    /// A line that repeats a plain one with other digits is the same request.
    private static func checkRepeats(
        _ stream: [UInt8], _ lines: ArraySlice<[UInt8]>, _ decoder: inout RequestDecoder
    ) {
        var start = 0
        for (line, next) in zip(lines, lines.dropFirst()) {
            let end = start + line.count
            let isRepeated = JSONScanner(stream.span).repeats(ByteRange(start, end), at: end + 1)
            start = end + 1
            var (old, new) = (Request(), Request())
            guard isRepeated, decoder.decodePlain(line.span, into: &old), old.cause == .none else { continue }
            hold(decoder.decodePlain(next.span, into: &new), "a repeated line isn't plain")
            hold(
                old.key == new.key && old.value == new.value && old.id == new.id, "a repeated line is another"
            )
            hold(
                old.operation == new.operation && old.fields == new.fields,
                "a repeated line is another request"
            )
        }
    }

    /// Line feeds are found wherever the pieces end.
    private static func checkPieces(_ stream: [UInt8], _ lines: [[UInt8]], size: Int) {
        var inbox = ByteBuffer()
        var found = 0
        var searched = 0
        var place = 0
        while place < stream.count {
            let end = min(place + size, stream.count)
            inbox.append(stream.span[place..<end])
            place = end
            while let feed = LineFramer.lineFeed(in: inbox.bytes, from: searched) {
                let line = Array(inbox.bytes[..<LineFramer.trimmed(inbox.bytes, from: 0, to: feed)])
                hold(found < lines.count - 1 && isSame(line, lines[found]), "lines in pieces of \(size)")
                found += 1
                inbox.removeFirst(feed + 1)
                searched = 0
            }
            searched = inbox.count
        }
        hold(found == lines.count - 1, "\(found) lines in pieces of \(size)")
    }

    /// The line without a carriage return at its end.
    private static func isSame(_ line: [UInt8], _ expected: [UInt8]) -> Bool {
        line == (expected.last == 0x0D ? expected.dropLast() : expected)
    }

    private static func decode(_ line: [UInt8], _ decoder: inout RequestDecoder) {
        guard !RequestDecoder.isIgnored(line.span) else { return }
        var copy = line
        var plain = Request()
        let isPlain = decoder.decodePlain(copy.span, into: &plain)
        var request = Request()
        do throws(Refusal) {
            var span = copy.mutableSpan
            try decoder.decodeUnusual(&span, into: &request)
            check(request, copy.span)
        } catch {
            hold(!isPlain, "a plain line is refused: \(error.message)")
            hold(error.offset ?? 0 <= line.count, "a place behind the line")
            return
        }
        guard isPlain else { return }
        hold(plain.operation == request.operation, "another operation")
        hold(
            plain.key == request.key && plain.value == request.value && plain.id == request.id, "other places"
        )
        hold(plain.fields == request.fields, "other fields")
    }

    private static func check(_ request: Request, _ line: Span<UInt8>) {
        let value = request.value.bytes(of: line)
        if !value.isEmpty { hold((try? JSONScanner.validate(value)) != nil, "a value that is no JSON") }
        if request.has(.key) {
            let key = request.key.bytes(of: line)
            hold(key.count <= line.count, "a key longer than its line")
        }
    }
}
