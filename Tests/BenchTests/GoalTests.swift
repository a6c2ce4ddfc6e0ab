import Foundation
import TestSupport
import Testing

@testable import plugboard_bench

@Suite("Figures to reach", .someAtATime)
struct GoalTests {
    private static func row(_ name: String, _ systems: SystemRow...) -> Row {
        Row(workload: Workload(name), systems: systems)
    }

    private static let report = Report.made([
        row("publish", .made("plugboard", [.cpuNanosecondsPerMessage: [100, 110, 120]])),
        row("publish-100000-keys", .made("plugboard", [.cpuNanosecondsPerMessage: [176, 176, 176]])),
        row(
            "1→100",
            .made("plugboard", [.cpuNanosecondsPerDelivery: [30, 40], .messagesPerSecond: [40, 40]]),
            .made("limit", [.cpuNanosecondsPerDelivery: [20, 20]]),
            .made("redis SET+PUBLISH", [.messagesPerSecond: [10, 10]])
        ),
    ])

    private func goal(_ start: String, in report: Report = report) throws -> (Double?, Goal.Verdict?) {
        let goal = try #require(Goals.all.first { $0.what.hasPrefix(start) })
        let value = goal.measure(report)
        return (value, value.map(goal.verdict))
    }

    @Test("a figure within its limit holds, one beyond it is missed")
    func verdicts() throws {
        #expect(try goal("publish, no observer") == (110, .holds))
        #expect(try goal("1→100: CPU") == (1.75, .missed))
        #expect(try goal("1→100: messages") == (4, .holds))
    }

    @Test("a figure at its limit holds")
    func bounds() {
        let (most, least) = (Goal.Bound(value: 1.6, isLeast: false), Goal.Bound(value: 3, isLeast: true))
        #expect(most.holds(1.6) && !most.holds(1.601) && least.holds(3) && !least.holds(2.999))
    }

    @Test("as usual, the journal costs what it may beside a broker without one, and redis syncs each second")
    func usual() throws {
        let systems: [SystemRow] = [
            .made("plugboard", [.messagesPerSecond: [64], .cpuNanosecondsPerMessage: [26]]),
            .made("without", [.messagesPerSecond: [100], .cpuNanosecondsPerMessage: [10]]),
            .made("redis SET+PUBLISH", [.messagesPerSecond: [10]]),
        ]
        let rows = ["publish", "mixed"].map { Row(workload: Workload($0).asUsual, systems: systems) }
        let memory = "publish, as usual: messages per second, × in memory"
        #expect(try goal(memory, in: .made(rows)) == (0.64, .shown))
        #expect(try goal("publish, as usual: messages per second, × redis", in: .made(rows)) == (6.4, .holds))
        #expect(try goal("publish, as usual: CPU", in: .made(rows)) == (2.6, .holds))
        #expect(try goal("mixed, as usual", in: .made(rows)) == (6.4, .holds))
        // What is measured of a broker in memory says nothing about the usual one, and the other way round.
        #expect(try goal("publish, no observer: CPU ns", in: .made(rows)) == (nil, nil))
        #expect(try goal("publish, as usual", in: Self.report) == (nil, nil))
    }

    @Test(
        "as usual, it needn't be faster than the disk",
        arguments: [
            (65, nil, 1, .holds), (52, nil, 0.8, .missed), (52, 650, 1, .holds), (52, 6_500, 0.8, .missed),
        ] as [(Double, Double?, Double, Goal.Verdict)]
    )
    func disk(rate: Double, diskBytes: Double?, reach: Double, verdict: Goal.Verdict) throws {
        let systems: [SystemRow] = [
            .made("plugboard", [.messagesPerSecond: [rate], .bytesToDiskPerMessage: [10]]),
            .made("without", [.messagesPerSecond: [100]]),
        ]
        let row = Row(
            workload: Workload("publish").asUsual,
            systems: systems,
            diskBytesPerSecond: diskBytes.flatMap { Figure(of: [$0]) }
        )
        let (value, found) = try goal("publish, as usual: messages per second, × the lower", in: .made([row]))
        #expect(abs(try #require(value) - reach) < 1e-9 && found == verdict)
        #expect(Table.text(of: row).contains("the disk itself takes") == (diskBytes != nil))
    }

    @Test("what is kept is compared with redis that always syncs")
    func keeping() throws {
        let rows = [
            Self.row(
                "durable-256",
                .made("plugboard", [.messagesPerSecond: [30]]),
                .made("redis SET+PUBLISH", [.messagesPerSecond: [10]])
            ),
            Self.row("recovery-1000000-keys", .made("plugboard", [.startMilliseconds: [2001]])),
            Self.row(
                "snapshot-1000000-keys", .made("plugboard", [.longestRoundTripMilliseconds: [4, 5, 9]])),
        ]
        #expect(try goal("256 durable writers:", in: .made(rows)) == (3, .holds))
        #expect(try goal("1 durable", in: .made(rows)) == (nil, nil))
        #expect(try goal("1,000,000 kept keys", in: .made(rows)) == (2001, .missed))
        #expect(try goal("a snapshot of", in: .made(rows)) == (5, .holds))
    }

    @Test("rows are compared with one another")
    func betweenRows() throws {
        #expect(try goal("100,000 keys") == (1.6, .missed))
    }

    @Test("a row that was left out is not measured; it doesn't count as held")
    func leftOut() throws {
        #expect(try goal("1→1: messages per second, × nats") == (nil, nil))
    }

    @Test("a start counts only for a static build")
    func start() throws {
        let rows = [Self.row("start", .made("plugboard", [.startMilliseconds: [3]]))]
        #expect(try goal("start to", in: .made(rows)) == (3, .holds))
        #expect(try goal("start to", in: .made(rows, isDynamic: true)) == (nil, nil))
    }

    @Test("growth is the highest cost divided by the lowest, at any sizes")
    func growth() throws {
        let growth = Growths.all[2]
        let rows = [100.0, 80, 160].map { Self.row("growth", .made("plugboard", [growth.quantity: [$0]])) }
        let report = Report.made([], growth: [GrowthRows(growth: growth, rows: rows)])
        #expect(try goal("growth-connections", in: report) == (2, .missed))
    }

    @Test("a system that was left out at some sizes has figures for the others")
    func partialGrowth() throws {
        let growth = Growths.all[2]
        let rows = [Self.row("growth", .made("plugboard", [growth.quantity: [5]])), Self.row("growth")]
        let partial = GrowthRows(growth: growth, rows: rows)
        #expect(partial.figures(of: "plugboard").map { $0?.median } == [5, nil])
        #expect(Chart.svg(of: .made([], growth: [partial])).contains("<circle"))
    }

    @Test("the table at the end has exactly the measured goals, with limit, aim and verdict")
    func table() {
        let text = Table.goals(of: Self.report)
        let measured = Goals.measured(in: Self.report).count
        #expect(measured == 4)
        // One name takes two lines.
        #expect(text.split(separator: "\n").count == measured + 3)
        #expect(Table.goals(of: .made([])) == "" && !text.contains("not measured"))
        let line = text.split(separator: "\n").first { $0.contains("1→100: messages") }
        let words = line?.split(separator: " ").suffix(9).map(String.init)
        #expect(words == ["4.000", "≥", "3", "≥", "4", "holds,", "and", "the", "aim"])
    }

    @Test("JSON has the same goals, and is valid whatever the machine's name is")
    func json() throws {
        let data = Data(Self.report.json().utf8)
        let report = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let machine = try #require(report["machine"] as? [String: Any])
        #expect(machine["processor"] as? String == "A <fast> \"processor\" & more")
        #expect(machine["isStatic"] as? Bool == true)
        let versions = try #require(report["versions"] as? [String: Any])
        #expect(versions["plugboard"] as? String == "0.1.0" && versions["nats"] is NSNull)
        let goals = try #require(report["goals"] as? [[String: Any]])
        #expect(goals.count == 4 && !goals.contains { $0["measured"] is NSNull })
        let first = try #require(goals.first)
        #expect(first["measured"] as? Double == 110 && first["verdict"] as? String == "holds")
        #expect((first["must"] as? [String: Double]) == ["atMost": 120])
        let rows = try #require(report["rows"] as? [[String: Any]])
        let systems = try #require(rows.last?["systems"] as? [[String: Any]])
        #expect((systems[0]["timesLimit"] as? [String: Double]) == ["cpuNanosecondsPerDelivery": 1.75])
    }
}
