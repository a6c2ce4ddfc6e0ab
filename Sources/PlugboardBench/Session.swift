// One system set up for one workload: its server runs, everyone is connected and
// subscribed. Each run of it is one value in the table.

import PlugboardPosix

/// A system and a workload, ready to be measured.
final class Session {
    private static let warmUpNanoseconds: UInt64 = 100_000_000
    let dialect: any Dialect
    private let workload: Workload
    private let server: Server
    private let generator: LoadGenerator

    /// Sets everything up and warms it. Nil where the system isn't installed.
    init?(_ workload: Workload, _ dialect: any Dialect, programs: Programs, signals: Signals?) throws {
        guard let server = try Server(dialect, programs: programs) else { return nil }
        self.dialect = dialect
        self.workload = workload
        self.server = server
        let first = try server.connectWhenReady()
        try dialect.open(first, workload: workload, isPublisher: false)
        try dialect.prepare(first, workload: workload)
        generator = try LoadGenerator(
            workload: workload,
            publishers: Self.publishers(workload, dialect, server),
            observers: Self.observers(workload, dialect, server),
            signals: signals
        )
        _ = try generator.run(nanoseconds: Self.warmUpNanoseconds, batchesMin: generator.batchesOfScript)
    }

    /// One run of that length.
    func run(nanoseconds: UInt64) throws -> [Quantity: Double] {
        let cpuBefore = try ProcessUsage.cpuNanoseconds(of: server.pid)
        let readsBefore = try ProcessUsage.readCalls(of: server.pid)
        let count = try generator.run(nanoseconds: nanoseconds)
        let cpu = try ProcessUsage.cpuNanoseconds(of: server.pid) - cpuBefore
        let reads = try ProcessUsage.readCalls(of: server.pid) - readsBefore
        return values(count, cpuNanoseconds: Double(cpu), reads: Double(reads))
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

    private static func publishers(_ workload: Workload, _ dialect: any Dialect, _ server: Server) throws
        -> [Publisher]
    {
        try (0..<workload.publishers).map { number in
            let link = try server.endpoint.connect()
            try dialect.open(link, workload: workload, isPublisher: true)
            return Publisher(
                link: link,
                script: Script(workload, publisher: number, dialect: dialect),
                batchMark: workload.measure == .rate ? dialect.batchMark(workload) : nil
            )
        }
    }

    private static func observers(_ workload: Workload, _ dialect: any Dialect, _ server: Server) throws
        -> [Observer]
    {
        try (0..<workload.observers).map { _ in
            let link = try server.endpoint.connect()
            try dialect.open(link, workload: workload, isPublisher: false)
            try dialect.subscribe(link, workload: workload)
            let deliveries = workload.batch * workload.deliveriesPerObserver
            return Observer(link: link, batchMark: dialect.deliveryMark(workload).times(deliveries))
        }
    }
}
