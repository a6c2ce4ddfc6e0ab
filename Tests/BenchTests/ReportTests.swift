import TestSupport
import Testing

@testable import plugboard_bench

@Suite("The table", .someAtATime)
struct ReportTests {
    private let row = Row(
        workload: Workload("1→1").with { $0.observers = 1 },
        systems: [
            .made(
                "plugboard",
                [
                    .messagesPerSecond: [1000], .cpuNanosecondsPerMessage: [200], .messagesPerRead: [128],
                    .generatorNanosecondsPerMessage: [300], .allocationsPerMessage: [0],
                ]
            ),
            .made(
                "limit",
                [.messagesPerSecond: [2000], .cpuNanosecondsPerMessage: [100], .messagesPerRead: [64]]
            ),
            .made(
                "nats publish",
                [.messagesPerSecond: [500], .cpuNanosecondsPerMessage: [600], .messagesPerRead: [50]],
                readsOncePerTurn: false
            ),
        ]
    )

    private func line(_ system: String) -> [Substring] {
        let lines = Table.text(of: row).split(separator: "\n")
        return lines.first { $0.hasPrefix("  \(system) ") }?.split(separator: " ") ?? []
    }

    @Test("what is measured at another time is added in its order; who failed once is left out")
    func added() throws {
        let workload = Workload("w")
        var row = Row(workload: workload, systems: [.made("plugboard", [.messagesPerSecond: [5]])])
        row.add(
            Row(
                workload: workload,
                systems: [
                    .made("plugboard", [.messagesPerSecond: [9, 7]]),
                    .made("redis", [.messagesPerSecond: [1]]),
                ]
            )
        )
        #expect(row.systems.map(\.system) == ["plugboard", "redis"])
        #expect(row.samples(of: "plugboard")?.values[.messagesPerSecond] == [5, 9, 7])
        var failed = Row(workload: workload)
        _ = try failed.attempt(RedisDialect(work: .tell)) { throw BenchError.closed }
        let name = RedisDialect(work: .tell).name
        row.add(Row(workload: workload, systems: [.made(name, [.messagesPerSecond: [2]])]))
        #expect(row.systems.contains { $0.system == name })
        row.add(failed)
        #expect(row.failures.count == 1 && !row.systems.contains { $0.system == name })
    }

    @Test("each system has its ratio to the limit, and how many times better plugboard is")
    func ratios() {
        #expect(line("plugboard").last == "2.00")
        #expect(line("limit").suffix(3) == ["1.00", "0.50×", "0.50×"])
        #expect(line("nats").suffix(3) == ["6.00", "2.00×", "3.00×"])
    }

    @Test("a rate that the generator limits is marked and explained")
    func heldBack() {
        #expect(line("plugboard").contains("1,000*"))
        #expect(Table.text(of: row).contains("\n  * held back by the load generator"))
    }

    @Test("a different batch is marked, and so is an unknown one")
    func batches() {
        #expect(line("plugboard").contains("128"))
        #expect(line("limit").contains("64.0≠"))
        #expect(line("nats").contains("50.0~"))
        #expect(Table.text(of: row).contains("\n  ≠ took in") && Table.text(of: row).contains("\n  ~ reads"))
    }

    @Test("allocations are shown for systems where they were counted, and for no others")
    func allocations() {
        #expect(Table.text(of: row).contains("\n  plugboard asked for memory 0 times a message\n"))
        let other = Row(
            workload: row.workload, systems: [.made("plugboard", [.messagesPerSecond: [1000, 900, 1200]])]
        )
        #expect(!Table.text(of: other).contains("memory"))
        // A column without any figure is left out.
        let lines = Table.text(of: other).split(separator: "\n").dropFirst()
        #expect(lines.map { $0.split(separator: " ") } == [["messages/s"], ["plugboard", "1,000", "±20%"]])
    }

    @Test("no line is wider than 100 columns, whatever was measured and however it is named")
    func width() {
        var large: [Metric: [Double]] = [:]
        for quantity in Metric.allCases { large[quantity] = [9_876_543, 1, 19_876_543] }
        large[.cpuNanosecondsPerMessage] = [123_456]
        large[.cpuNanosecondsPerDelivery] = [12_345]
        large[.messagesPerRead] = [12_345]
        for quantity in [
            Metric.roundTripP50Microseconds, .roundTripP99Microseconds, .roundTripP999Microseconds,
        ] {
            large[quantity] = [12_345, 1_234, 23_456]
        }
        let names = ["plugboard", "without", "limit", "redis SET+PUBLISH", "mosquitto publish"]
        var texts: [String] = []
        for workload in Workloads.usual + Growths.all.flatMap({ growth in growth.sizes.map(growth.workload) })
        {
            texts.append(Table.text(of: Row(workload: workload, systems: names.map { .made($0, large) })))
        }
        let rows = Growths.all.map { growth in
            let systems = names.map { SystemRow.made($0, [growth.quantity: [1_234_567]]) }
            let rows = growth.sizes.map { Row(workload: growth.workload($0), systems: systems) }
            return GrowthRows(growth: growth, rows: rows)
        }
        texts += rows.map { Table.text(of: $0) }
        let report = Report.made(
            Workloads.usual.map { Row(workload: $0, systems: names.map { .made($0, large) }) }, growth: rows
        )
        texts += [
            Table.end(of: report),
            Table.text(of: report.machine, report.versions),
        ]
        for line in texts.joined().split(separator: "\n") { #expect(line.count <= 100, "\(line)") }
    }

    @Test("the head names the machine, and the peers that are missing on it")
    func head() {
        let report = Report.made([])
        let text = Table.text(of: report.machine, report.versions)
        #expect(text.hasPrefix("A <fast> \"processor\" & more; 2 cores; Linux 6; Swift 6.3.0"))
        #expect(text.hasSuffix("plugboard 0.1.0, nats is not installed\n"))
    }

    @Test("this machine has a processor and a version of Swift")
    func machine() {
        let machine = Machine.current()
        #expect(machine.processors >= 1)
        #expect(machine.swift == Toolchain.version && machine.swift.hasPrefix("6."))
        #expect(!machine.text.contains(";;"))
    }
}
