import TestSupport
import Testing

@testable import PlugboardBench

@Suite("The table", .oneAtATime)
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

    @Test("each system has its ratio to the limit, and how many times better plugboard is")
    func ratios() {
        #expect(line("plugboard").last == "2.00")
        #expect(line("limit").suffix(3) == ["1.00", "0.50×", "0.50×"])
        #expect(line("nats").suffix(3) == ["6.00", "2.00×", "3.00×"])
    }

    @Test("what the generator limits is marked, and said below")
    func limitedByGenerator() {
        #expect(line("plugboard").contains("300*"))
        #expect(Table.text(of: row).contains("\n  * the load generator used more CPU"))
    }

    @Test("a batch that differs is marked, and one that can't be told")
    func batches() {
        #expect(line("plugboard").contains("128"))
        #expect(line("limit").contains("64.0≠"))
        #expect(line("nats").contains("50.0~"))
        #expect(Table.text(of: row).contains("\n  ≠ took in") && Table.text(of: row).contains("\n  ~ reads"))
    }

    @Test("no allocations are shown as 0, not counted ones as a dash")
    func allocations() {
        #expect(line("plugboard").contains("0"))
        #expect(line("limit").contains("–"))
    }

    @Test("the head names the machine, and what is missing on it")
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
        #expect(machine.swift.hasPrefix("6."))
        #expect(!machine.text.contains(";;"))
    }
}
