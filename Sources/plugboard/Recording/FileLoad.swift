// The work of `load`: sends the broker what the lines of a file hold; see `FileSender`. A batch is sent in
// the place of its last line; if it is too long for one line of the bus, in parts.

import PlugboardPosix
import PlugboardWire

/// One load of a file.
struct FileLoad: ~Copyable {
    private let console: CommandConsole
    private let takesBound: Bool
    /// The keys of the broker, if nothing is to be written.
    private let present: Set<String>?
    private var sender: FileSender
    private var batch = LoadBatch()
    /// What each request writes, by its number, but for a request for the line in whose place it was sent.
    private var sent: [Int: SentValues] = [:]
    /// The first line of each batch that would be refused.
    private var refusedBatches: Set<Int> = []
    private var counts = LoadCounts()

    static func run(path: String, _ invocation: Invocation, _ console: CommandConsole) throws {
        let reader = try FileLines(path: path)
        let connection = try BrokerConnection.open(invocation)
        let present = invocation.has(.dryRun) ? Set(try KeyPages.names(of: "**", from: connection)) : nil
        let sender = FileSender(reader, connection, console)
        var work = FileLoad(sender, console, present, takesBound: invocation.has(.bound))
        try work.run(asJSON: invocation.has(.json))
    }

    private init(
        _ sender: consuming FileSender, _ console: CommandConsole, _ present: Set<String>?, takesBound: Bool
    ) {
        self.sender = sender
        self.console = console
        self.present = present
        self.takesBound = takesBound
    }

    private mutating func run(asJSON: Bool) throws {
        var revision: UInt64 = 0
        do {
            while let line = try sender.next() {
                noteRefusals()
                if !line.isIgnored { read(line) }
                sender.endLine()
            }
            giveUpBatch()
            revision = try sender.finish()
            noteRefusals()
        } catch let error as CommandError {
            noteRefusals()
            throw sender.located(error)
        }
        sender.clearBar()
        try console.output.line(counts.text(revision, asJSON: asJSON, isDry: present != nil))
        guard counts.refused == 0 else {
            let verb = present == nil ? "were not" : "would not be"
            throw CommandError(.refused, "\(counts.refused) of \(counts.all) values \(verb) written")
        }
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
        let parts = BatchParts.ranges(kept.map(\.0.request.count))
        if parts.count > 1 {
            counts.parted += 1
            sender.report(
                "\(numbers[0]): the batch is too long for one line, and so is written in \(parts.count) parts"
            )
        }
        for part in parts { send(kept[part].map(\.0)[...], kept[part].map(\.1)) }
    }

    /// Sends values that fit one line, and are written together.
    private mutating func send(_ values: ArraySlice<DumpedValue>, _ numbers: [Int]) {
        let amount = LoadCounts(values, present)
        counts.add(amount)
        guard present == nil else { return explain(values, SentValues(numbers: numbers, amount: amount)) }
        let request = sender.add(LoadBatch.request(values))
        if numbers != [sender.lines] { sent[request] = SentValues(numbers: numbers, amount: amount) }
    }

    /// Asks what each write would do. If one would be refused, nothing of its batch would be written.
    private mutating func explain(_ values: ArraySlice<DumpedValue>, _ batch: SentValues) {
        for (place, value) in values.enumerated() {
            let request = sender.add(asking: ObjectWriter(op: "explain").adding("write", json: value.request))
            sent[request] = SentValues(numbers: batch.numbers, amount: batch.amount, place: place)
        }
    }

    /// Refuses the batch that is not complete, if there is one.
    private mutating func giveUpBatch() {
        guard let (numbers, message) = batch.giveUp() else { return }
        refuse(numbers, "\(numbers[0]): \(message)")
    }

    private mutating func refuse(_ numbers: [Int], _ message: String) {
        counts.refused += numbers.count
        sender.report(message)
    }

    private mutating func noteRefusals() {
        for refusal in sender.takeRefusals() {
            let values = sent[refusal.request] ?? SentValues(numbers: [refusal.line], amount: .one)
            guard present == nil || refusedBatches.insert(values.numbers[0]).inserted else { continue }
            let write = values.place ?? refusal.write
            let place = values.numbers.indices.contains(write) ? values.numbers[write] : refusal.line
            counts.takeBack(values.amount)
            refuse(values.numbers, "\(place): \(refusal.message)")
        }
    }
}
