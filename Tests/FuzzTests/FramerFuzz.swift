// Lines as they come in pieces, and requests as they are read from lines.

import PlugboardWire
import Synchronization

enum FramerFuzz {
    /// Keeps its memory from run to run, as it does in the broker; tests run side by side.
    private static let decoder = Mutex(RequestDecoder())

    /// The first byte says how large the pieces are; the rest is a stream of lines.
    static func run(_ bytes: UnsafeRawBufferPointer) {
        guard let first = bytes.first else { return }
        let stream = bytes.part(1..<bytes.count)
        let lines = stream.lines
        checkPieces(stream, lines, size: Int(first % 32) + 1)
        let copies = lines.prefix(3).map { Array($0) }
        decoder.withLock { decoder in
            for line in copies { line.withUnsafeBytes { decode($0, &decoder) } }
        }
    }

    /// Line feeds are found wherever the pieces end.
    private static func checkPieces(
        _ stream: UnsafeRawBufferPointer,
        _ lines: [UnsafeRawBufferPointer],
        size: Int
    ) {
        var inbox = ByteBuffer()
        var found = 0
        var searched = 0
        var place = 0
        while place < stream.count {
            let end = min(place + size, stream.count)
            inbox.append(stream.part(place..<end))
            place = end
            while let feed = LineFramer.lineFeed(in: inbox.bytes, from: searched) {
                let line = inbox.bytes.part(0..<LineFramer.trimmed(inbox.bytes, from: 0, to: feed))
                hold(found < lines.count - 1 && isSame(line, lines[found]), "lines in pieces of \(size)")
                found += 1
                inbox.removeFirst(feed + 1)
                searched = 0
            }
            searched = inbox.count
        }
        hold(found == lines.count - 1, "\(found) lines in pieces of \(size)")
    }

    /// Without the carriage return that may end it.
    private static func isSame(_ line: UnsafeRawBufferPointer, _ expected: UnsafeRawBufferPointer) -> Bool {
        let end = expected.last == 0x0D ? expected.count - 1 : expected.count
        return line.elementsEqual(expected.part(0..<end))
    }

    private static func decode(_ line: UnsafeRawBufferPointer, _ decoder: inout RequestDecoder) {
        guard !RequestDecoder.isIgnored(line) else { return }
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: line.count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyMemory(from: line)
        var plain = Request()
        let isPlain = decoder.decodePlain(UnsafeRawBufferPointer(copy), into: &plain)
        hold(copy.elementsEqual(line), "a plain line was changed")
        var request = Request()
        do throws(Refusal) {
            try decoder.decodeUnusual(copy, into: &request)
            check(request, UnsafeRawBufferPointer(copy))
        } catch {
            hold(!isPlain, "a plain line is refused: \(error.message)")
            hold(error.offset ?? 0 <= line.count, "a place behind the line")
            return
        }
        guard isPlain else { return }
        hold(plain.operation == request.operation, "another operation")
        hold(
            plain.key == request.key && plain.value == request.value && plain.id == request.id,
            "other places"
        )
        hold(plain.fields == request.fields, "other fields")
    }

    private static func check(_ request: Request, _ line: UnsafeRawBufferPointer) {
        let value = request.value.bytes(of: line)
        if !value.isEmpty { hold((try? JSONScanner.validate(value)) != nil, "a value that is no JSON") }
        if request.has(.key) {
            let key = request.key.bytes(of: line)
            hold(key.count <= line.count, "a key longer than its line")
        }
    }
}
