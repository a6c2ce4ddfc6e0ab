// One system set up for one workload: its server runs, everyone is connected and
// subscribed. Each run of it is one value in the table.

import PlugboardPosix

/// A system and a workload, ready to be measured.
final class Session {
    private static let warmUpNanoseconds: UInt64 = 100_000_000
    private static let settlingNanoseconds: UInt64 = 60_000_000
    let dialect: any Dialect
    /// With the batch that this system's publishers write.
    private(set) var workload: Workload
    /// In all runs so far.
    private(set) var messagesPublished = 0
    private let server: Server
    private let signals: Signals?
    private let resting: [Link]
    private let observing: [Link]
    private var generator: LoadGenerator
    private let bystander: Bystander?

    /// Sets everything up and warms it. Nil where the system isn't installed.
    init?(_ workload: Workload, _ dialect: any Dialect, programs: Programs, signals: Signals?) throws {
        // Of a round trip both ways go from one processor to another, for every system alike.
        let place = workload.measure == .roundTrip ? try ProcessorPlace(.allButFirst) : nil
        let started = Result { try Server(dialect, for: workload, programs: programs) }
        place?.leave()
        guard let server = try started.get() else { return nil }
        let workload = dialect.workload(workload)
        self.dialect = dialect
        self.workload = workload
        self.server = server
        self.signals = signals
        let first = try server.connectWhenReady()
        try dialect.open(first, workload: workload, as: .resting)
        try dialect.prepare(first, workload: workload)
        resting = try (0..<workload.connectionsAtRest).map {
            try server.connectResting($0, workload, dialect)
        }
        observing = try (0..<workload.observers).map { number in
            try Self.connectObserver(number, workload, dialect, server)
        }
        generator = try Self.generator(workload, dialect, server, observing, signals)
        let warmedUp = try generator.run(
            nanoseconds: Self.warmUpNanoseconds,
            batchesMin: generator.batchesOfScript
        )
        messagesPublished = warmedUp.messages
        bystander = try workload.bystander.map { try Bystander($0, server, dialect, workload) }
        try bystander?.add(to: generator)
    }

    /// What there is to say of a bystander, after all runs.
    func finish() throws -> [Quantity: Double] {
        guard let bystander, !bystander.reads else { return [:] }
        return try bystander.wake(keys: workload.keys, lastMark: generator.lastMark ?? "")
    }

    /// One run of that length.
    func run(nanoseconds: UInt64) throws -> [Quantity: Double] {
        let place = workload.measure == .roundTrip ? try ProcessorPlace(.first) : nil
        defer { place?.leave() }
        let cpuBefore = try ProcessUsage.cpuNanoseconds(of: server.pid)
        let readsBefore = try ProcessUsage.readCalls(of: server.pid)
        let count = try publish(nanoseconds: nanoseconds)
        let cpu = try ProcessUsage.cpuNanoseconds(of: server.pid) - cpuBefore
        let reads = try ProcessUsage.readCalls(of: server.pid) - readsBefore
        return values(count, cpuNanoseconds: Double(cpu), reads: Double(reads))
    }

    /// Publishes at least so many batches, and not many more.
    func run(batches: Int) throws {
        try publish(nanoseconds: 0, batchesMin: batches)
    }

    /// Publishers, connected anew, write batches of this many messages from now on.
    func setBatch(_ batch: Int) throws {
        workload.batch = batch
        generator = try Self.generator(workload, dialect, server, observing, signals)
        try bystander?.add(to: generator)
        try publish(nanoseconds: Self.settlingNanoseconds)
    }

    /// Messages for each of the server's reads, in a short run.
    func messagesPerRead() throws -> Double? {
        try run(nanoseconds: Self.settlingNanoseconds)[.messagesPerRead]
    }

    /// Sends the server a signal.
    func signal(_ number: Int32) {
        server.signal(number)
    }

    /// Whether the server's process has this library in memory.
    func serverHasLoaded(_ library: String) -> Bool {
        Machine.hasLoaded(library, process: "\(server.pid)")
    }

    @discardableResult
    private func publish(nanoseconds: UInt64, batchesMin: Int = 1) throws -> RunCount {
        let count = try generator.run(nanoseconds: nanoseconds, batchesMin: batchesMin)
        messagesPublished += count.messages
        return count
    }

    private func values(_ count: RunCount, cpuNanoseconds: Double, reads: Double) -> [Quantity: Double] {
        let messages = Double(count.messages)
        var values: [Quantity: Double] = [
            .messagesPerSecond: messages * 1e9 / Double(count.wallNanoseconds),
            .cpuNanosecondsPerMessage: cpuNanoseconds / messages,
            .generatorNanosecondsPerMessage: Double(count.generatorNanoseconds) / messages,
        ]
        if reads > 0 { values[.messagesPerRead] = messages / reads }
        if count.deliveries > 0 {
            values[.cpuNanosecondsPerDelivery] = cpuNanoseconds / Double(count.deliveries)
        }
        if workload.measure == .roundTrip {
            let sorted = count.roundTrips.map { Double($0) / 1000 }.sorted()
            values[.roundTripP50Microseconds] = Figure.quantile(0.5, ofSorted: sorted)
            values[.roundTripP99Microseconds] = Figure.quantile(0.99, ofSorted: sorted)
            values[.roundTripP999Microseconds] = Figure.quantile(0.999, ofSorted: sorted)
        }
        return values
    }

    private static func generator(
        _ workload: Workload,
        _ dialect: any Dialect,
        _ server: Server,
        _ observing: [Link],
        _ signals: Signals?
    ) throws -> LoadGenerator {
        let deliveries = workload.batch * workload.deliveriesPerObserver
        let mark = dialect.deliveryMark(workload).times(deliveries)
        return try LoadGenerator(
            workload: workload,
            publishers: (0..<workload.publishers).map { number in
                try connectPublisher(number, workload, dialect, server)
            },
            observers: observing.enumerated().map { number, link in
                let answer = answers(number, workload) ? dialect.answer : nil
                return Observer(link: link, batchMark: mark, answer: answer)
            },
            signals: signals
        )
    }

    private static func connectPublisher(
        _ number: Int,
        _ workload: Workload,
        _ dialect: any Dialect,
        _ server: Server
    ) throws -> Publisher {
        let link = try server.endpoint.connect()
        try dialect.open(link, workload: workload, as: .publisher(number))
        return Publisher(
            link: link,
            script: Script(workload, publisher: number, dialect: dialect),
            batchMark: workload.measure == .rate || workload.operation == .call
                ? dialect.batchMark(workload) : nil
        )
    }

    private static func connectObserver(
        _ number: Int,
        _ workload: Workload,
        _ dialect: any Dialect,
        _ server: Server
    ) throws -> Link {
        let link = try server.endpoint.connect()
        try dialect.open(link, workload: workload, as: .observer)
        if answers(number, workload) {
            try dialect.subscribeAnswering(link, workload: workload)
        } else {
            try dialect.subscribe(link, workload: workload)
        }
        return link
    }

    /// The first observer does, where the row wants answers.
    private static func answers(_ number: Int, _ workload: Workload) -> Bool {
        number == 0 && (workload.acknowledging != nil || workload.operation == .call)
    }
}
