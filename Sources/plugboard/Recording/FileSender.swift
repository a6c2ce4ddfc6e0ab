// Sends the broker a line for each line of a file, a blank one if there is nothing to write. So the line
// numbers in the broker's errors are those of the file, but for the lines whose requests are several.
// Requests have no id, so the broker reports only mistakes; questions have their number. A `sync` at the end shows
// that the broker has handled everything. Used by `publish --from` and by `load`, which own one each.

import PlugboardPosix
import PlugboardWire

/// A file on its way to the broker.
struct FileSender: ~Copyable {
    /// How many mistakes are reported one by one; the others are counted.
    private static let reportsMax = 20
    private static let sendBytes = 64 * 1024

    /// A request that the broker refused.
    struct Refused {
        /// Which line of the broker's it was, as `add` said.
        let request: Int
        /// The number of its line in the file, if it was no question.
        let line: Int
        /// Which write of a batch it was; 0 in other requests.
        let write: Int
        let message: String
    }

    private let console: CommandConsole
    private let connection: BrokerConnection
    private let firstLine: Int
    private var reader: FileLines
    private var bar: ProgressBar
    private var outgoing: [UInt8] = []
    private var refusals: [Refused] = []
    private var reports = 0
    /// The number of lines that the broker gets, up to the present one.
    private var requests = 1
    private var hasRequest = false
    /// The requests that aren't the first of their line in the file.
    private var furtherRequests: [Int] = []
    /// The number of the last line that was read.
    private(set) var lines = 0

    init(_ reader: consuming FileLines, _ connection: BrokerConnection, _ console: CommandConsole) {
        bar = ProgressBar(total: reader.bytesTotal, on: console.messages)
        self.reader = reader
        self.connection = connection
        self.console = console
        firstLine = connection.linesSent
    }

    /// The next line of the file; nil at its end. What waits is sent, if it is enough or the file has to be
    /// waited for. Throws `CommandError` if the file can't be read or the connection ends.
    mutating func next() throws -> FileLines.Line? {
        if outgoing.count >= Self.sendBytes || lines > 0 && reader.mustWait { try flush() }
        guard let line = try reader.next() else { return nil }
        lines = line.number
        return line
    }

    /// Adds a request of the present line, and returns its number.
    @discardableResult
    mutating func add(_ request: [UInt8]) -> Int {
        begin()
        outgoing += request
        return requests
    }

    /// Adds a question whether the broker would refuse something, and returns its number.
    mutating func add(asking question: ObjectWriter) -> Int {
        begin()
        outgoing += question.line(id: requests).dropLast()
        return requests
    }

    private mutating func begin() {
        if hasRequest {
            endLine()
            furtherRequests.append(requests)
        }
        hasRequest = true
    }

    /// The present line is done with, with a request or without.
    mutating func endLine() {
        outgoing.append(0x0A)
        requests += 1
        hasRequest = false
    }

    /// Takes what the broker has refused by now.
    mutating func takeRefusals() -> [Refused] {
        defer { refusals = [] }
        return refusals
    }

    /// Waits until the broker has handled everything. Returns its revision then.
    mutating func finish() throws -> UInt64 {
        try connection.send(outgoing + ObjectWriter(op: "sync").line(id: 1))
        while true {
            let line = try connection.nextLine()
            if line.kind == .ok("sync") { return line["revision"]?.integer ?? 0 }
            note(line)
        }
    }

    /// Says what is wrong, with a line's number at the front, unless very much was said already.
    mutating func report(_ message: String) {
        bar.clear()
        reports += 1
        if reports <= Self.reportsMax { console.say("\(reader.name):\(message)") }
        if reports == Self.reportsMax + 1 { console.say("…") }
    }

    /// Removes the progress bar.
    mutating func clearBar() { bar.clear() }

    /// An error in the middle of the file, with the place.
    mutating func located(_ error: CommandError) -> CommandError {
        bar.clear()
        return CommandError(
            error.status, "\(error.message), after line \(lines) of \(reader.name)", hints: error.hints
        )
    }

    private mutating func flush() throws {
        try connection.send(outgoing)
        outgoing.removeAll(keepingCapacity: true)
        while let line = try connection.nextLine(milliseconds: 0) { note(line) }
        bar.update(done: reader.bytesRead, count: lines)
    }

    private mutating func note(_ line: BrokerLine) {
        guard let refusal = line.refusal ?? line.foreseenRefusal else { return }
        let id = line["id"]?.integer.map { Int(clamping: $0) }
        let number = id ?? Int(clamping: line["line"]?.integer ?? 0) - firstLine
        let place = number - (id == nil ? furtherRequests.count { $0 <= number } : 0)
        let write = Int(clamping: line["write"]?.integer ?? 0)
        refusals.append(Refused(request: number, line: place, write: write, message: refusal.message))
    }
}
