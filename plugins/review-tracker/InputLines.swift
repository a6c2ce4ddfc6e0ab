// The lines of a file or of standard input, as they arrive. A thread of its own reads them,
// because reading waits. It stays at most a few lines ahead, so that a file of any size
// needs little memory.

import Dispatch
import PlugboardMemory
import PlugboardPosix

/// A numbered line.
struct InputLine: Equatable, Sendable {
    /// From 1; every line counts.
    let number: Int
    /// Without its line feed; nil if it is longer than `InputLines.lineBytesMax`.
    let bytes: [UInt8]?
}

/// The lines of one source, once, from front to back.
struct InputLines: AsyncSequence, Sendable {
    /// The longest line: as long as a value of the bus.
    static let lineBytesMax = 1_048_576
    private static let aheadMax = 64

    private let lines: AsyncThrowingStream<InputLine, any Error>
    private let room = DispatchSemaphore(value: 0)

    /// Reads a file; `-` is standard input. If it can't be read, the loop throws.
    init(path: String) {
        let (lines, input) = AsyncThrowingStream.makeStream(of: InputLine.self)
        let room = room
        for _ in 0..<Self.aheadMax { room.signal() }
        let read = { @Sendable in
            var splitter = LineSplitter { line in
                room.wait()
                if case .terminated = input.yield(line) { return false }
                return true
            }
            do {
                try splitter.readAll(path == "-" ? .standardInput() : InputFile(path: path))
                input.finish()
            } catch {
                input.finish(throwing: InputFailure(path: path, error))
            }
        }
        do {
            try Background.start(read)
        } catch {
            input.finish(throwing: InputFailure(path: path, error))
        }
        self.lines = lines
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(lines: lines.makeAsyncIterator(), room: room)
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var lines: AsyncThrowingStream<InputLine, any Error>.Iterator
        fileprivate let room: DispatchSemaphore

        mutating func next() async throws -> InputLine? {
            let line = try await lines.next()
            room.signal()
            return line
        }
    }
}

/// Splits bytes into lines.
struct LineSplitter {
    private var line: [UInt8] = []
    private var isTooLong = false
    private var number = 0
    private let take: (InputLine) -> Bool

    /// `take` returns whether it wants more lines.
    init(_ take: @escaping (InputLine) -> Bool) {
        self.take = take
    }

    /// Reads to the end. The last line needs no line feed.
    mutating func readAll(_ file: consuming InputFile) throws {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            var room = chunk.mutableSpan
            let count = try file.read(into: &room)
            if count == 0 { break }
            guard add(chunk[..<count]) else { return }
        }
        if !line.isEmpty || isTooLong { _ = finishLine() }
    }

    /// Returns false when no more lines are wanted.
    mutating func add(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while let feed = rest.firstIndex(of: 0x0A) {
            keep(rest[..<feed])
            guard finishLine() else { return false }
            rest = rest[(feed + 1)...]
        }
        keep(rest)
        return true
    }

    private mutating func keep(_ bytes: ArraySlice<UInt8>) {
        isTooLong = isTooLong || line.count + bytes.count > InputLines.lineBytesMax
        if isTooLong { line = [] } else { line += bytes }
    }

    private mutating func finishLine() -> Bool {
        number += 1
        if line.last == 0x0D { line.removeLast() }
        defer { (line, isTooLong) = ([], false) }
        return take(InputLine(number: number, bytes: isTooLong ? nil : line))
    }
}

/// A source that can't be read, with the system's reason.
struct InputFailure: Error, CustomStringConvertible {
    let description: String

    init(path: String, _ error: any Error) {
        description = "\(path) can't be read: \((error as? SystemError)?.reason ?? "\(error)")"
    }
}
