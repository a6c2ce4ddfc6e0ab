import TestSupport
import Testing

@testable import plugboard_bench

@Suite("The line to remember", .someAtATime)
struct HeadlineTests {
    private static func row(_ name: String, peers: Bool = true, limit: Bool = true) -> Row {
        let ours = SystemRow.made("plugboard", [.messagesPerSecond: [400], .cpuNanosecondsPerDelivery: [26]])
        let copying = SystemRow.made("limit", [.cpuNanosecondsPerDelivery: [20]])
        let others: [SystemRow] = [
            .made("nats KV", [.messagesPerSecond: [50]], isEqualPeer: true),
            .made("redis SET+PUBLISH", [.messagesPerSecond: [100]], isEqualPeer: true),
            // It is faster, but keeps nothing.
            .made("nats publish", [.messagesPerSecond: [300]]),
        ]
        let systems = [ours] + (limit ? [copying] : []) + (peers ? others : [])
        return Row(workload: Workload(name), systems: systems)
    }

    @Test("the fastest peer is the fastest of those that do the same work")
    func fastest() {
        #expect(
            Headline.text(of: .made([Self.row("1→100")]))
                == "in short: 1→100, 4.00 × the rate of the fastest peer, redis SET+PUBLISH; "
                + "1.30 × the CPU of mere copying\n"
        )
    }

    @Test("what wasn't measured is left out, and nothing is said of nothing")
    func missing() {
        #expect(
            Headline.text(of: .made([Self.row("1→100", peers: false)]))
                == "in short: 1→100, 1.30 × the CPU of mere copying\n"
        )
        #expect(Headline.text(of: .made([Self.row("1→10", limit: false)])).hasSuffix("SET+PUBLISH\n"))
        #expect(Headline.text(of: .made([Self.row("1→10", peers: false, limit: false)])) == "")
        #expect(Headline.text(of: .made([Self.row("publish")])) == "")
    }

    @Test("of several rows, the first in the list that was measured is summed up")
    func order() {
        let report = Report.made(["1→1", "1→10"].map { Self.row($0) })
        #expect(Headline.text(of: report).hasPrefix("in short: 1→10, "))
        let partial = Report.made([Self.row("1→100", peers: false, limit: false), Self.row("1→1")])
        #expect(Headline.text(of: partial).hasPrefix("in short: 1→1, "))
    }

    @Test("each of its rows exists, and it is the last line of the bench")
    func place() {
        for name in Headline.rows { #expect(Workloads.usual.contains { $0.name == name }, "\(name)") }
        let report = Report.made([Self.row("1→100")])
        #expect(Table.end(of: report).hasSuffix("\n\n" + Headline.text(of: report)))
        #expect(Table.end(of: .made([])) == "\n" + Table.method(of: .made([])))
    }

    @Test("of each peer, only the way that keeps values and tells of them does the same work")
    func work() {
        let same: [any Dialect] = [
            RedisDialect(work: .keepAndTell), NATSDialect(work: .keepAndTell),
            MosquittoDialect(work: .keepAndTell),
        ]
        let other: [any Dialect] = [
            RedisDialect(work: .tell), NATSDialect(work: .tell), MosquittoDialect(work: .tell),
            PlugboardDialect(programs: Products.programs), LimitDialect(programs: Products.programs),
        ]
        #expect(same.allSatisfy(\.isEqualPeer) && !other.contains(where: \.isEqualPeer))
    }
}
