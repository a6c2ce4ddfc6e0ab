// Collects lines and writes them together. If many events come at once, one system call writes many lines. A
// single event is written as soon as no other waits.

/// Lines on their way to a stream. The caller flushes it before each wait.
struct PendingOutput {
    private static let bytesMax = 64 * 1024

    private let stream: OutputStream
    private var bytes: [UInt8] = []

    init(_ stream: OutputStream) {
        self.stream = stream
    }

    mutating func add(line: String) throws {
        try add(bytes: stream.textLine(line))
    }

    /// Adds JSON, safe to show if the stream is a terminal.
    mutating func add(json: some Collection<UInt8>) throws {
        try add(bytes: stream.jsonLine(json))
    }

    /// Adds whole lines that are safe to show.
    mutating func add(bytes lines: [UInt8]) throws {
        bytes += lines
        if bytes.count >= Self.bytesMax { try flush() }
    }

    /// Writes all collected lines. Throws `ReaderGone` if nobody reads any more.
    mutating func flush() throws {
        guard !bytes.isEmpty else { return }
        defer { bytes.removeAll(keepingCapacity: true) }
        try stream.bytes(bytes)
    }
}
