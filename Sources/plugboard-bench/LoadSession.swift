// One system under load for one workload. Its server runs, and all publishers and observers are
// connected. Each run gives one value for each quantity. The server ends with the session.

import PlugboardPosix

/// A system and a workload, ready to be measured. Only one thread uses it.
final class LoadSession: Probe {
    let dialect: any Dialect
    /// The row, with the batch that this system's publishers write.
    private(set) var workload: Workload
    /// The number of messages in all runs so far.
    private(set) var messagesPublished = 0
    private let bench: Bench
    private let server: MeasuredServer
    private let resting: [LoadLink]
    private let observing: [LoadLink]
    private var generator: LoadGenerator
    private let bystander: Bystander?

    var batch: Int { workload.batch }

    /// Sets everything up and warms the server.
    init(_ row: Workload, _ dialect: any Dialect, _ bench: Bench) throws {
        // The generator gets the first processor and the server the others, for every system alike.
        let place = row.measure == .roundTrip ? try ProcessorPlace(.allButFirst) : nil
        let started = Result { try MeasuredServer(dialect, for: row, bench.programs) }
        place?.leave()
        let server = try started.get()
        let workload = dialect.workload(row)
        self.dialect = dialect
        self.workload = workload
        self.bench = bench
        self.server = server
        let first = try server.connectWhenReady()
        try dialect.open(first, workload: workload, as: .resting)
        try dialect.prepare(first, workload: workload)
        resting = try (0..<workload.connectionsAtRest).map {
            try server.connectResting($0, workload, dialect)
        }
        observing = try (0..<workload.observers).map { number in
            let link = try server.connect(workload, dialect, as: .observer)
            try dialect.observe(link, workload.asObserver(number), answering: workload.answers(number))
            return link
        }
        if workload.isShuffled {
            // Otherwise the first round would make the keys in the other order.
            let inOrder = workload.with { $0.isShuffled = false }
            let maker = try Self.generator(inOrder, dialect, server, observing, bench.signals)
            _ = try maker.run(nanoseconds: 0, batchesMin: maker.batchesOfScript)
        }
        generator = try Self.generator(workload, dialect, server, observing, bench.signals)
        let warmedUp = try generator.run(
            nanoseconds: bench.options.warmUpNanoseconds, batchesMin: generator.batchesOfScript
        )
        messagesPublished = warmedUp.messages
        bystander = try workload.bystander.map { try Bystander($0, server, dialect, workload) }
        try bystander?.add(to: generator)
    }

    func run() throws -> [Metric: Double] {
        try run(nanoseconds: UInt64(bench.options.seconds(of: workload) * 1e9))
    }

    /// Returns what a bystander shows, how often the broker allocates memory, and how large its journal is.
    func finish() throws -> [Metric: Double] {
        var values: [Metric: Double] = [:]
        if let bystander, !bystander.reads {
            values = try bystander.wake(keys: workload.keys, lastMark: generator.lastMark ?? "")
        }
        if bench.options.countsAllocations, dialect.name == "plugboard", workload.measure == .rate,
            workload.keeping == .nothing
        {
            values[.allocationsPerMessage] = try Allocations(bench: bench).count(workload)?.perMessage
        }
        if dialect.server == "plugboard", workload.keeping != .nothing {
            values[.folderBytes] = Double(server.journalBytes)
        }
        return values
    }

    /// Publishes at least `batches` batches, and not many more.
    func run(batches: Int) throws {
        try publish(nanoseconds: 0, batchesMin: batches)
    }

    /// Opens new connections for the publishers. Their batches have `batch` messages.
    func setBatch(_ batch: Int) throws {
        workload.batch = batch
        generator = try Self.generator(workload, dialect, server, observing, bench.signals)
        try bystander?.add(to: generator)
        try publish(nanoseconds: bench.options.settlingNanoseconds)
    }

    /// Messages per read of the server, in a short run; nil if reads can't be counted.
    func messagesPerRead() throws -> Double? {
        try run(nanoseconds: bench.options.settlingNanoseconds)[.messagesPerRead]
    }

    func signal(_ number: Int32) {
        server.signal(number)
    }

    /// Whether the server's process has loaded a library.
    func serverHasLoaded(_ library: String) -> Bool {
        Machine.hasLoaded(library, process: "\(server.pid)")
    }

    private func run(nanoseconds: UInt64) throws -> [Metric: Double] {
        let place = workload.measure == .roundTrip ? try ProcessorPlace(.first) : nil
        defer { place?.leave() }
        let cpuBefore = try ProcessUsage.cpuNanoseconds(of: server.pid)
        let readsBefore = try ProcessUsage.readCalls(of: server.pid)
        let writtenBefore = try ProcessUsage.bytesToDisk(of: server.pid)
        let count = try publish(nanoseconds: nanoseconds)
        let cpu = try Double(ProcessUsage.cpuNanoseconds(of: server.pid) - cpuBefore)
        let reads = try Double(ProcessUsage.readCalls(of: server.pid) - readsBefore)
        let messages = Double(count.messages)
        var values: [Metric: Double] = [
            .messagesPerSecond: messages * 1e9 / Double(count.wallNanoseconds),
            .cpuNanosecondsPerMessage: cpu / messages,
            .generatorNanosecondsPerMessage: Double(count.generatorNanoseconds) / messages,
        ]
        if workload.keeping != .nothing {
            let written = try ProcessUsage.bytesToDisk(of: server.pid) - writtenBefore
            values[.bytesToDiskPerMessage] = Double(written) / messages
        }
        if reads > 0 { values[.messagesPerRead] = messages / reads }
        if count.deliveries > 0 { values[.cpuNanosecondsPerDelivery] = cpu / Double(count.deliveries) }
        if workload.measure == .roundTrip {
            let sorted = count.roundTrips.map { Double($0) / 1000 }.sorted()
            for (part, quantity) in [
                (0.5, Metric.roundTripP50Microseconds), (0.99, .roundTripP99Microseconds),
                (0.999, .roundTripP999Microseconds),
            ] {
                values[quantity] = Figure.quantile(part, ofSorted: sorted)
            }
        }
        return values
    }

    @discardableResult
    private func publish(nanoseconds: UInt64, batchesMin: Int = 1) throws -> RunCount {
        let count = try generator.run(nanoseconds: nanoseconds, batchesMin: batchesMin)
        messagesPublished += count.messages
        return count
    }

    private static func generator(
        _ workload: Workload,
        _ dialect: any Dialect,
        _ server: MeasuredServer,
        _ observing: [LoadLink],
        _ signals: Signals?
    ) throws -> LoadGenerator {
        let deliveries = workload.batch * workload.deliveriesPerObserver
        let mark = dialect.deliveryMark(workload).times(deliveries)
        let publishers = try (0..<workload.publishers).map {
            try LoadPublisher($0, server.endpoint.connect(), workload, dialect)
        }
        let observers = observing.enumerated().map { number, link in
            LoadObserver(link: link, batchMark: mark, answer: workload.answers(number) ? dialect.answer : nil)
        }
        return try LoadGenerator(workload, publishers, observers, signals)
    }
}

extension Workload {
    /// Whether an observer acknowledges or serves: the first one, if the row wants that.
    fileprivate func answers(_ number: Int) -> Bool {
        number == 0 && (acknowledging != nil || operation == .call)
    }
}
