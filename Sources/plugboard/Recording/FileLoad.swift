// The work of `load`: for each line of the file it sends a line to the broker, and a blank one if there is
// nothing to write yet. So the line numbers in the broker's errors are those of the file; a batch is sent in
// the place of its last line. A `sync` at the end shows that the broker has handled everything.

import PlugboardPosix
import PlugboardWire

/// One load of a file.
struct FileLoad: ~Copyable {
    /// How many mistakes are reported one by one; the others are counted.
    private static let reportsMax = 20
    private static let sendBytes = 64 * 1024

    private let console: CommandConsole
    private let connection: BrokerConnection
    private let firstLine: Int
    private let takesBound: Bool
    /// The keys of the broker, if nothing is to be written.
    private let present: Set<String>?
    private var reader: FileLines
    private var bar: ProgressBar
    private var outgoing: [UInt8] = []
    private var batch = LoadBatch()
    /// The lines of each batch that was sent, by its last line.
    private var sentBatches: [Int: [Int]] = [:]
    private var lines = 0
    private var counts = LoadCounts()

    static func run(path: String, _ invocation: Invocation, _ console: CommandConsole) throws {
        let reader = try FileLines(path: path)
        let connection = try BrokerConnection.open(invocation)
        let present = invocation.has(.dryRun) ? Set(try KeyPages.names(of: "**", from: connection)) : nil
        var work = FileLoad(reader, connection, console, present, takesBound: invocation.has(.bound))
        try work.run(asJSON: invocation.has(.json))
    }

    private init(
        _ reader: consuming FileLines,
        _ connection: BrokerConnection,
        _ console: CommandConsole,
        _ present: Set<String>?,
        takesBound: Bool
    ) {
        bar = ProgressBar(total: reader.bytesTotal, on: console.messages)
        self.reader = reader
        self.connection = connection
        self.console = console
        self.present = present
        self.takesBound = takesBound
        firstLine = connection.linesSent
    }

    private mutating func run(asJSON: Bool) throws {
        var revision: UInt64 = 0
        do {
            while let line = try reader.next() {
                take(line)
                if outgoing.count >= Self.sendBytes || reader.mustWait { try flush() }
            }
            giveUpBatch()
            revision = try finish()
        } catch let error as CommandError {
            bar.clear()
            let message = "\(error.message), after line \(lines) of \(reader.name)"
            throw CommandError(error.status, message, hints: error.hints)
        }
        bar.clear()
        try console.output.line(counts.text(revision, asJSON: asJSON, isDry: present != nil))
        guard counts.refused == 0 else {
            throw CommandError(.refused, "\(counts.refused) of \(counts.all) values were not written")
        }
    }

    private mutating func take(_ line: FileLines.Line) {
        lines = line.number
        if !line.isIgnored { read(line) }
        outgoing.append(0x0A)
    }

    private mutating func read(_ line: FileLines.Line) {
        let value: DumpedValue
        do throws(JSONFault) {
            value = try DumpedValue(line)
        } catch {
            batch.spoil(line.number)
            let half = line.isEnded ? "" : "; the file ends in the middle of a line"
            return refuse([line.number], "\(line.number): \(error.message)\(half)")
        }
        if !batch.takes(value) { giveUpBatch() }
        batch.add(value, line.number)
        if batch.isComplete { send() }
    }

    /// Sends a complete batch, or a single value.
    private mutating func send() {
        let (values, numbers) = batch.take()
        let kept = zip(values, numbers).filter { takesBound || !$0.0.isBound }
        counts.bound += values.count - kept.count
        guard !kept.isEmpty else { return }
        let request = LoadBatch.request(kept.map(\.0))
        guard request.count <= Limits.lineBytesMax else {
            return refuse(
                numbers,
                "\(numbers[0]): the batch is more than fits a line of \(Limits.lineBytesMax) bytes"
            )
        }
        counts.add(kept.map(\.0), present)
        guard present == nil else { return }
        outgoing += request
        if kept.count > 1 { sentBatches[lines] = kept.map(\.1) }
    }

    /// Refuses the batch that is not complete, if there is one.
    private mutating func giveUpBatch() {
        guard let (numbers, message) = batch.giveUp() else { return }
        refuse(numbers, "\(numbers[0]): \(message)")
    }

    private mutating func refuse(_ numbers: [Int], _ message: String) {
        counts.refused += numbers.count
        report(message)
    }

    private mutating func flush() throws {
        try connection.send(outgoing)
        outgoing.removeAll(keepingCapacity: true)
        while let line = try connection.nextLine(milliseconds: 0) { note(line) }
        bar.update(done: reader.bytesRead, count: lines)
    }

    /// Waits until the broker has handled everything. Returns its revision then.
    private mutating func finish() throws -> UInt64 {
        try connection.send(outgoing + ObjectText(op: "sync").adding("id", 1).line)
        while true {
            let line = try connection.nextLine()
            if line.kind == .ok("sync") { return line["revision"]?.integer ?? 0 }
            note(line)
        }
    }

    private mutating func note(_ line: BrokerLine) {
        guard let refusal = line.refusal else { return }
        let last = Int(clamping: line["line"]?.integer ?? 0) - firstLine
        let numbers = sentBatches[last] ?? [last]
        let write = Int(clamping: line["write"]?.integer ?? 0)
        let place = numbers.indices.contains(write) ? numbers[write] : last
        counts.takeBack(numbers.count)
        refuse(numbers, "\(place): \(refusal.message)")
    }

    private mutating func report(_ message: String) {
        bar.clear()
        counts.reports += 1
        if counts.reports <= Self.reportsMax { console.say("\(reader.name):\(message)") }
        if counts.reports == Self.reportsMax + 1 { console.say("…") }
    }
}
