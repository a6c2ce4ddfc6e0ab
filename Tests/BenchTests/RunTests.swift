import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard_bench

/// Real servers, measured for as short a time as possible.
@Suite("A run", .someAtATime)
struct RunTests {
    /// Only as many runs as a median needs.
    private static func bench(_ change: (inout BenchOptions) -> Void = { _ in }) -> Bench {
        var options = BenchOptions()
        options.runs = 2
        options.secondsPerRun = 0.005
        options.countsAllocations = false
        change(&options)
        return Bench(options: options, programs: Products.programs, signals: nil)
    }

    private func run(
        _ workloads: Workload..., growths: [Growth] = [], peers: Bool = false, runs: Int = 2
    ) throws -> Report {
        try Self.bench {
            $0.runs = runs
            $0.workloads = workloads
            $0.growths = growths
            $0.peers = peers
        }.run()
    }

    private static let small = Workload("small").with {
        $0.observers = 3
        $0.batch = 8
    }

    @Test("the broker and the limit under load")
    func load() throws {
        let row = try #require(try run(Self.small).rows.first)
        #expect(row.systems.map(\.system) == ["plugboard", "limit"])
        for system in row.systems {
            for quantity in [
                Metric.messagesPerSecond, .cpuNanosecondsPerMessage, .cpuNanosecondsPerDelivery,
                .messagesPerRead, .generatorNanosecondsPerMessage,
            ] {
                let figure = try #require(system.samples.figure(quantity), "\(system.system) \(quantity)")
                #expect(figure.least > 0 && figure.least <= figure.most)
            }
        }
    }

    @Test(
        "every kind of workload finishes",
        arguments: [
            small.with { $0.publishers = 4 },
            small.with { $0.keys = 100 },
            small.with { $0.interest = .patterns(20, matching: 10) },
            small.with { $0.interest = .patterns(5, matching: 1) },
            small.with { $0.subscribing = #""old":true"# },
            small.with {
                $0.subscribing = #""every":1"#
                $0.tellsEach = false
            },
            small.with { $0.writing = #""ttl":60000"# },
            small.with {
                $0.subscribing = #""where":{"/price":{"<":10}}"#
                $0.tellsEach = false
            },
            small.with {
                $0.bystander = Workload.Bystander(request: #"{"op":"subscribe","key":"**"}"#, reads: true)
            },
            small.with { $0.isAcknowledged = true },
            small.with { $0.connectionsAtRest = 5 },
            small.with { $0.observers = 0 },
            small.with { $0.valueBytes = 16_384 },
        ]
    )
    func kinds(workload: Workload) throws {
        let row = try #require(try run(workload).rows.first)
        #expect(row.systems.first?.samples.figure(.messagesPerSecond) != nil)
    }

    @Test("round trips, connections at rest and the start")
    func others() throws {
        let rows = try run(
            Workload("trip").with {
                $0.measure = .roundTrip
                $0.observers = 2
                $0.batch = 1
                $0.window = 1
            },
            Workload("idle").with { $0.measure = .idle(connections: 1_000) },
            Workload("start").with { $0.measure = .startUp }
        ).rows
        let plugboard = rows.compactMap { $0.samples(of: "plugboard") }
        let trip = try #require(plugboard[0].figure(.roundTripP50Microseconds))
        #expect(trip.median > 0)
        #expect(try #require(plugboard[0].figure(.roundTripP999Microseconds)).median >= trip.median)
        #expect(try #require(plugboard[1].figure(.bytesPerConnection)).median > 0)
        #expect(try #require(plugboard[2].figure(.startMilliseconds)).median > 0)
    }

    @Test("the memory of a key is that of a key with its value, of systems that keep it")
    func keys() throws {
        let workload = Workload("keys").with {
            ($0.measure, $0.keys, $0.keyDigits, $0.batch) = (.keys, 60_000, 15, 256)
        }
        let row = try #require(try run(workload, peers: true).rows.first)
        #expect(row.failures == [])
        let bytes = try #require(row.samples(of: "plugboard")?.figure(.bytesPerKey)).median
        #expect((150..<450).contains(bytes), "\(bytes)")
        for name in ["limit", "redis PUBLISH", "nats publish", "mosquitto publish"] {
            #expect(row.samples(of: name) == nil, "\(name) keeps no values")
        }
        #expect(Names.key(7, of: workload).utf8.count == 22)
    }

    @Test("the journal beside memory, durable writes beside peers, and recovery")
    func keeping() throws {
        let rows = try run(
            Self.small.with { $0.keeping = .journal },
            Workload("durable").with {
                $0.keeping = .durable
                $0.publishers = 4
                $0.keys = 4
                $0.isAcknowledged = true
                $0.batch = 1
                $0.window = 1
            },
            Workload("recovery").with {
                $0.measure = .recovery
                $0.keeping = .journal
                $0.keys = 300
                $0.batch = 100
            },
            peers: true
        ).rows
        #expect(rows.flatMap(\.failures) == [])
        let peers = [
            ("redis-server", "redis SET+PUBLISH"), ("nats-server", "nats KV"),
            ("mosquitto", "mosquitto retain"),
        ]
        .filter { Programs.find($0.0) != nil }.map(\.1)
        #expect(rows[0].systems.map(\.system) == ["plugboard", "without", "limit"] + peers)
        #expect(
            rows[1].systems.map(\.system) == ["plugboard", "limit"]
                + peers.filter { $0 != "mosquitto retain" }
        )
        #expect(rows[2].systems.map(\.system) == ["plugboard"])
        #expect(rows.map { $0.diskMessagesPerSecond ?? 0 > 0 } == [true, false, false])
        #expect(try #require(rows[2].samples(of: "plugboard")?.figure(.startMilliseconds)).median > 0)
        let text = Table.text(of: rows[1]) + Table.text(of: rows[2])
        #expect(text.contains("on disk before it is answered") && text.contains("300 kept keys"))
    }

    @Test("a sustained row has ten parts, and says how large the journal is at the end")
    func sustained() throws {
        let row = try #require(
            try run(Self.small.with { ($0.keeping, $0.isSustained) = (.journal, true) }).rows.first
        )
        #expect(row.failures == [])
        let samples = try #require(row.samples(of: "plugboard"))
        #expect(samples.values[.messagesPerSecond]?.count == 10)
        #expect(try #require(samples.figure(.folderBytes)).median > 100_000)
        #expect(try #require(samples.figure(.bytesToDiskPerMessage)).median > 128)
        #expect(Table.text(of: row).contains("plugboard, messages/s in 10 parts: "))
    }

    @Test("the longest wait while a snapshot is made")
    func snapshot() throws {
        let workload = Workload("snapshot").with {
            $0.measure = .snapshot
            $0.keeping = .journal
            $0.keys = 300
            $0.valueBytes = 100_000
            $0.batch = 10
            $0.window = 1
        }
        let row = try #require(try run(workload, peers: true, runs: 1).rows.first)
        #expect(row.failures == [] && row.systems.map(\.system) == ["plugboard"])
        let wait = try #require(row.samples(of: "plugboard")?.figure(.longestRoundTripMilliseconds))
        #expect(wait.median > 0 && Table.text(of: row).contains("while a snapshot of 300 keys is made"))
    }

    @Test("an option is measured beside the same row without it, and compared with that")
    func option() throws {
        let row = try #require(try run(Self.small.with { $0.subscribing = #""values":false"# }).rows.first)
        #expect(row.systems.map(\.system) == ["plugboard", "without"] && row.failures == [])
        let text = Table.text(of: row)
        #expect(text.contains("\"values\":false") && text.contains("CPU × without"))
        let without = try #require(row.samples(of: "without"))
        #expect(row.samples(of: "plugboard")?.ratio(.messagesPerSecond, to: without) != nil)
    }

    @Test("calls are answered and updates acknowledged by the first observer")
    func answering() throws {
        let trip = Workload("trip").with {
            $0.measure = .roundTrip
            $0.observers = 1
            $0.batch = 1
            $0.window = 1
        }
        let rows = try run(
            trip.with { $0.operation = .call },
            trip.with {
                $0.observers = 3
                $0.acknowledging = #""phase":1,"ack":true"#
            }
        ).rows
        for row in rows {
            #expect(row.failures == [])
            let trip = try #require(row.samples(of: "plugboard")?.figure(.roundTripP50Microseconds))
            // Waiting in vain for an acknowledgement takes a second.
            #expect(trip.median > 0 && trip.median < 500_000)
        }
    }

    @Test("an observer that stops reading costs what is announced, and catches up with one line per key")
    func stopped() throws {
        let all = try #require(Workloads.usual.first { $0.name == "1→10-one-stopped" })
        let row = try #require(
            try run(
                all.with {
                    $0.observers = 2
                    $0.batch = 256
                    $0.valueBytes = 4096
                }
            ).rows.first
        )
        #expect(row.failures == [] && row.systems.map(\.system) == ["plugboard", "without"])
        let samples = try #require(row.samples(of: "plugboard"))
        #expect(samples.figure(.linesPerKeyAfterWaking)?.median == 1)
        #expect(try #require(samples.figure(.bytesOfStopped)).median < 16_777_216)
        let words = Table.text(of: row).split { $0.isWhitespace }.joined(separator: " ")
        #expect(words.contains("1 line for each changed key"))
    }

    @Test("a series has a figure for each size")
    func growth() throws {
        let growth = Growth(
            name: "few", what: "observers", quantity: .cpuNanosecondsPerDelivery, sizes: [1, 2, 4]
        ) { size in Self.small.with { $0.observers = size } }
        let rows = try #require(try run(growths: [growth]).growth.first)
        #expect(rows.systems == ["plugboard", "limit"])
        #expect(rows.figures(of: "plugboard").count == 3)
        // Each size was measured as often as any other row.
        let samples = rows.rows.map { $0.samples(of: "limit")?.values[.cpuNanosecondsPerDelivery]?.count }
        #expect(samples == [2, 2, 2])
        #expect(Table.text(of: rows).contains("× lowest"))
    }

    @Test("with too few descriptors, systems are measured one after the other")
    func fewDescriptors() throws {
        var bench = Self.bench()
        bench.descriptors = 0
        let dialects: [any Dialect] = [
            PlugboardDialect(programs: Products.programs), LimitDialect(programs: Products.programs),
        ]
        let rows = try bench.measure(Self.small, dialects).systems
        #expect(rows.map(\.system) == ["plugboard", "limit"])
    }

    @Test("a failed system is reported in its row, and the others still have their figures")
    func failures() throws {
        let bench = Self.bench()
        let folder = try TemporaryFolder(named: "pbt")
        try FileCopy.link(at: folder.path + "/plugboard", to: "/bin/false")
        let row = try bench.measure(
            Self.small,
            [
                PlugboardDialect(programs: Programs(folder: folder.path)),
                LimitDialect(programs: Products.programs),
            ]
        )
        #expect(row.systems.map(\.system) == ["limit"])
        let reason = "unexpected answer: the server exited with status 1"
        #expect(row.failures == [Failure(workload: "small", system: "plugboard", reason: reason)])
        #expect(Table.text(of: row).contains("\n  plugboard failed: \(reason)\n"))
        #expect(Report.made([row]).ownFailures.map(\.description) == ["small, plugboard: \(reason)"])
    }

    @Test(
        "redis is measured with SET and PUBLISH, and with PUBLISH alone",
        .enabled(if: Programs.find("redis-server") != nil, "redis-server isn't installed")
    )
    func redis() throws {
        try measure([RedisDialect(work: .keepAndTell), RedisDialect(work: .tell)])
    }

    @Test(
        "nats is measured with a bucket, and plain",
        .enabled(if: Programs.find("nats-server") != nil, "nats-server isn't installed")
    )
    func nats() throws {
        try measure([NATSDialect(work: .keepAndTell), NATSDialect(work: .tell)])
    }

    @Test(
        "mosquitto is measured with retained messages, and plain",
        .enabled(if: Programs.find("mosquitto") != nil, "mosquitto isn't installed")
    )
    func mosquitto() throws {
        try measure([MosquittoDialect(work: .keepAndTell), MosquittoDialect(work: .tell)])
    }

    private func measure(_ dialects: [any Dialect]) throws {
        let bench = Self.bench()
        for workload in [
            Self.small, Self.small.with { $0.keys = 50 }, Self.small.with { $0.isAcknowledged = true },
            Self.small.with { $0.interest = .patterns(5, matching: 1) },
        ] {
            let supporting = dialects.filter { $0.supports(workload) }
            let row = try bench.measure(workload, supporting)
            #expect(row.systems.count == supporting.count && row.failures == [])
            for row in row.systems {
                #expect(try #require(row.samples.figure(.messagesPerSecond)).median > 0)
            }
        }
        let version = try SystemVersion.of(dialects[0], programs: Products.programs)
        #expect(version.version?.contains(".") == true)
    }
}
