import TestSupport
import Testing

@testable import plugboard_bench

@Suite("The siege", .someAtATime)
struct SiegeTests {
    private static func waits(_ milliseconds: [Double], isOver: Bool = true) -> Waits {
        var waits = Waits()
        for each in milliseconds { waits.append(UInt64(each * 1e6), cpu: 0, isOver: isOver) }
        return waits
    }

    private static func run(_ waits: Waits, most: UInt64 = 10, after: UInt64 = 10) -> SiegeRun {
        let quiet = [Self.waits([0.1]), Self.waits([0.1])]
        return SiegeRun(
            alone: quiet,
            attacked: [quiet[0], waits],
            memoryBefore: 10 << 20,
            memoryMost: most << 20,
            memoryAfter: after << 20,
            isSetUp: true
        )
    }

    private static let row = SiegeRow(name: "row", what: "a test", growthBytesMax: 64 << 20, givesBack: true)
    {
        _ in
    }

    @Test("names of rows are unique, and select rows as those of the bench do")
    func names() throws {
        let names = SiegeRows.all.map(\.name)
        #expect(names.count == 23 && Set(names).count == names.count)
        #expect(try SiegeRow.chosen(nil).map(\.name) == names)
        #expect(try SiegeRow.chosen(["keys", "bytes"]).map(\.name) == ["keys", "bytes"])
        #expect(try SiegeRow.chosen(["leave"]).map(\.name) == ["leave-keys", "leave-subscriptions"])
        #expect(throws: BenchError.unknownWorkload("1->10")) { try SiegeRow.chosen(["1->10"]) }
        #expect(throws: BenchRefusal.self) { try Attacker.run(["nobody"]) }
    }

    @Test("its options are parsed")
    func options() throws {
        let words = try BenchProgram.parse([
            "--siege", "--small", "--memory", "--only", "keys", "--runs=3", "--json",
        ])
        #expect(words.has(.siege) && words.has(.small) && words.has(.memory) && words.text(.only) == "keys")
    }

    @Test("the p99, a third of the longest wait and memory are judged")
    func faults() {
        let steady = Array(repeating: 1.0, count: 1000)
        #expect(Self.run(Self.waits(steady + [30]), most: 74, after: 26).faults(Self.row) == [])
        #expect(
            Self.run(Self.waits(steady + [31])).faults(Self.row) == ["who calls: a third of the longest wait"]
        )
        #expect(Self.run(Self.waits(steady.map { $0 * 11 })).faults(Self.row) == ["who calls: p99"])
        #expect(
            Self.run(Self.waits([1]), most: 75, after: 27).faults(Self.row)
                == ["memory grew too much", "memory wasn't given back"]
        )
    }

    @Test("the worst run counts, and a wait that didn't end is marked")
    func table() {
        let runs = [Self.run(Self.waits([1])), Self.run(Self.waits([2, 5000], isOver: false))]
        let text = SiegeTable.text(of: SiegeResult(row: Self.row, runs: runs))
        #expect(text.contains("> 5,000 ") && text.contains("FAILED: who calls: p99; who calls: a third"))
        let skipped = SiegeResult(row: Self.row, failure: "no root", isSkipped: true)
        #expect(skipped.faults == [] && SiegeTable.text(of: skipped).contains("\n  skipped: no root\n"))
        let end = SiegeTable.end(of: [SiegeResult(row: Self.row, runs: runs), skipped], .full)
        #expect(end.hasPrefix("0 of 2 rows hold, 1 skipped\nFAILED: row\n"))
    }

    @Test("a small attack is measured, beside two who are answered")
    func small() throws {
        let siege = Siege(
            rows: try SiegeRow.chosen(["who"]), scale: .small, programs: Products.programs, signals: nil
        )
        let result = try #require(try siege.run().first)
        #expect(result.failure == nil && !result.isWeaker)
        let run = try #require(result.runs.first)
        for waits in run.alone + run.attacked { #expect(waits.all.count > 1 && waits.p50 > 0) }
        #expect(run.memoryBefore > 0 && run.memoryMost >= run.memoryAfter)
        #expect(SiegeTable.json(of: [result]).hasPrefix(#"{"rows":[{"name":"who","#))
    }

    @Test("rows about the journal are left out without one", arguments: ["journal", "slow-disk"])
    func withoutJournal(name: String) throws {
        let rows = try SiegeRow.chosen([name])
        let siege = Siege(
            rows: rows, scale: .small, keeping: .nothing, programs: Products.programs, signals: nil
        )
        let result = try #require(try siege.run().first)
        #expect(result.isSkipped && result.faults == [])
    }

    @Test("a disk whose syncs are slow is attacked", .enabled(if: Programs.find(SiegeBroker.tracer) != nil))
    func slowDisk() throws {
        let rows = try SiegeRow.chosen(["slow-disk"])
        let siege = Siege(rows: rows, scale: .small, programs: Products.programs, signals: nil)
        let result = try #require(try siege.run().first)
        #expect(result.failure == nil && result.runs.count == 1)
    }

    @Test("an attack that fails is a fault of its row")
    func failing() throws {
        let siege = Siege(rows: [Self.row], scale: .small, programs: Products.programs, signals: nil)
        let result = try #require(try siege.run().first)
        #expect(result.verdict.contains("the attacker exited with status 64"))
    }
}
