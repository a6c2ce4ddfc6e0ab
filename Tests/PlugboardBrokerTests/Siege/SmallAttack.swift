// The attackers of `bench --siege`, small: each asks for many times what a turn may do.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardBroker

/// What the turns of a broker have done, or may do.
struct TurnCost: Sendable {
    /// Of the broker's own meter.
    var steps = 0
    var revisions = 0
    var readBytes = 0
    /// Calls of the system.
    var sends = 0
    var closings = 0
    /// What the system has shown to be ready, once for each turn.
    var listed = 0
    /// Bytes of the clients' own that wait for them.
    var keptBytes = 0
}

/// One attacker.
struct SmallAttack: Sendable, CustomTestStringConvertible {
    /// As in the bench, if that has it.
    let name: String
    /// What one turn would do too much of if it did all at once.
    var measure: WritableKeyPath<TurnCost, Int> & Sendable = \TurnCost.steps
    /// So much of it a turn may do.
    var most = stepsMost
    /// For so many turns a bystander may wait: it is read, and then maybe held back for a turn. Where a whole crowd
    /// is heard for the first time in the same turn, it waits for its turn among them.
    var turnsMost = 4
    /// The broker does no more at once, however large its budgets are.
    var hasFixedBudget = false
    /// The broker keeps copies for several clients together.
    var sharesCopies = true
    /// Gets everything ready. Returns what begins the attack, when the bystander is there.
    let prepare: @Sendable (SiegeStage) throws -> () throws -> Void

    /// The budgets of all phases of a turn together, and of each the last request that began within: those here
    /// take about 2,000 steps at most.
    private static let stepsMost = 8 * Int(SiegeStage.effort) + 4_096
    /// One who is told much is told so many steps' worth without a look at the budget.
    private static let settlingMost = 2 * Cost.settledMax

    /// The value of which those who don't read keep a copy each, four times. To keep one takes longer than a turn
    /// serves.
    private static let stoppedBytes = 65_536

    var testDescription: String { name }

    /// Lines, each made from its number.
    private static func lines(_ count: Int, _ line: (Int) -> String) -> String {
        (0..<count).map(line).joined(separator: "\n")
    }

    private static func writes(_ count: Int, _ key: String, _ options: String = "") -> String {
        lines(count) { #"{"op":"publish","key":"\#(key)\#($0)","value":1\#(options)}"# }
    }

    static let all = asking + observing + holding + leaving

    private static let asking: [SmallAttack] = [
        // The 64 patterns of one line are attached at once.
        SmallAttack(name: "subscribe-64-patterns", most: stepsMost + 64 * Cost.pattern) { stage in
            let link = try stage.connect()
            try stage.ask(writes(2_000, "siege.shop.k"), link)
            let patterns = lines(64) { "\"*.*.nomatch\($0)\"" }.replacing("\n", with: ",")
            let round = #"{"op":"subscribe","sub":1,"keys":[\#(patterns)]}"# + "\nunsubscribe 1\n"
            return { stage.send(String(repeating: round, count: 20), link) }
        },
        SmallAttack(name: "add-to-large", most: stepsMost + 65_536 / Cost.bytesChangedPerStep) { stage in
            let link = try stage.connect()
            let others = String(repeating: "7,", count: 32_000)
            try stage.ask(#"publish siege.large {"others":[\#(others)7],"n":1}"#, link)
            let add = #"{"op":"add","key":"siege.large","value":1,"field":"/n"}"#
            return { stage.send(lines(100) { _ in add } + "\n", link) }
        },
        SmallAttack(name: "refused") { stage in
            let link = try stage.connect()
            return { stage.send(lines(400) { "pubish siege.k \($0)" } + "\n", link) }
        },
        SmallAttack(name: "get-own") { stage in
            let links = try (0..<100).map { _ in try stage.connect() }
            return { stage.send(lines(200) { _ in "get $broker.clients.7" } + "\n", links[0]) }
        },
        SmallAttack(name: "keys") { stage in
            let link = try stage.connect()
            try stage.ask(writes(2_000, "siege.shop.k"), link)
            return { stage.send(lines(200) { _ in "keys *.*.nomatch" } + "\n", link) }
        },
        SmallAttack(name: "snapshots", most: stepsMost + settlingMost, turnsMost: 9) { stage in
            let links = try (0..<8).map { _ in try stage.connect() }
            try stage.ask(writes(2_000, "siege.shop.k"), links[0])
            let rounds = String(repeating: "subscribe siege.shop.**\nunsubscribe 1\n", count: 10)
            return { for link in links { stage.send(rounds, link) } }
        },
        SmallAttack(name: "snapshots-at-once", most: stepsMost + settlingMost, turnsMost: 60) { stage in
            let links = try (0..<100).map { _ in try stage.connect() }
            try stage.ask(writes(500, "siege.shop.k"), links[0])
            return { for link in links { stage.send("subscribe siege.shop.**\n", link) } }
        },
        SmallAttack(name: "who") { stage in
            let (observer, link) = (try stage.connect(), try stage.connect())
            try stage.ask(lines(100) { #"{"op":"subscribe","sub":\#($0),"key":"siege.who"}"# }, observer)
            return {
                stage.send(lines(200) { _ in "who siege.who\nexplain publish siege.who 1" } + "\n", link)
            }
        },
    ]

    private static let observing: [SmallAttack] = [
        SmallAttack(name: "patterns") { stage in
            let link = try stage.connect()
            let subscribe = lines(256) { number in
                let tokens = (0..<8).map { number >> $0 & 1 == 1 ? "*." : "a." }.joined()
                return #"{"op":"subscribe","sub":\#(number),"key":"\#(tokens)b.z"}"#
            }
            try stage.ask(subscribe, link)
            let key = String(repeating: "a.", count: 8)
            return { stage.send(lines(500) { "emit \(key)\($0 % 2 == 0 ? "c.z" : "b.y") 1" } + "\n", link) }
        },
        SmallAttack(name: "traces", most: stepsMost + settlingMost) { stage in
            let (tracer, observer) = (try stage.connect(), try stage.connect())
            try stage.ask(lines(200) { #"{"op":"trace","sub":\#($0),"key":"siege.traced"}"# }, tracer)
            try stage.ask(lines(20) { #"{"op":"subscribe","sub":\#($0),"key":"siege.traced"}"# }, observer)
            let writer = try stage.connect()
            return { stage.send(lines(50) { "publish siege.traced \($0)" } + "\n", writer) }
        },
        SmallAttack(name: "conditions") { stage in
            let (observer, writer) = (try stage.connect(), try stage.connect())
            let conditions = (0..<7).map { "\"/a\($0)\":{\">=\":0}," }.joined()
            let subscribe = lines(50) {
                #"{"op":"subscribe","sub":\#($0),"key":"siege.where","where":{\#(conditions)"/z":{"==":\#($0)}}}"#
            }
            try stage.ask(subscribe, observer)
            let members = (0..<7).map { "\"a\($0)\":\($0)," }.joined()
            let write = #"{"op":"publish","key":"siege.where","value":{\#(members)"z":-1}}"#
            return { stage.send(lines(200) { _ in write } + "\n", writer) }
        },
        SmallAttack(name: "unsubscribe") { stage in
            let observer = try stage.connect()
            try stage.ask(lines(400) { #"{"op":"subscribe","sub":\#($0),"key":"siege.left"}"# }, observer)
            return { stage.send(lines(400) { "unsubscribe \($0)" } + "\n", observer) }
        },
        SmallAttack(name: "members", most: stepsMost + settlingMost) { stage in
            let (observer, writer) = (try stage.connect(), try stage.connect())
            let subscribe = #"{"op":"subscribe","key":"siege.diff","diff":true,"initial":false}"#
            try stage.ask(lines(10) { _ in subscribe }, observer)
            let members = String(repeating: #""a":1,"#, count: 2_000)
            let writes = lines(100) { #"publish siege.diff {\#(members)"b":\#($0)}"# }
            return { stage.send(writes + "\n", writer) }
        },
        SmallAttack(name: "fan-out", measure: \.sends, most: SiegeStage.served + 8) { stage in
            try fanOut(stage)
        },
        // A trace names more observers than a turn serves, and it serves these.
        SmallAttack(name: "fan-out-traced", measure: \.sends, most: 2 * SiegeStage.served + 8) { stage in
            try stage.ask("trace siege.fan", try stage.connect())
            return try fanOut(stage)
        },
    ]

    private static func fanOut(_ stage: SiegeStage) throws -> () throws -> Void {
        for _ in 0..<300 {
            try stage.ask(#"{"op":"subscribe","key":"siege.fan","initial":false}"#, try stage.connect())
        }
        let writer = try stage.connect()
        return { stage.send(lines(50) { "publish siege.fan \($0)" } + "\n", writer) }
    }

    private static let holding: [SmallAttack] = [
        SmallAttack(name: "paused") { stage in
            let (observer, writer) = (try stage.connect(), try stage.connect())
            try stage.ask(lines(100) { #"{"op":"subscribe","sub":\#($0),"key":"**"}"# }, observer)
            try stage.ask(lines(100) { "pause \($0)" }, observer)
            return { stage.send(writes(500, "siege.paused.k") + "\n", writer) }
        },
        SmallAttack(name: "stopped", measure: \.keptBytes, most: 5 * stoppedBytes, sharesCopies: false) {
            stage in
            let observers = try (0..<100).map { _ in try stage.connect() }
            let subscribe = #"{"op":"subscribe","key":"siege.all","delivery":"all","initial":false}"#
            for observer in observers { try stage.ask(subscribe, observer) }
            let writer = try stage.connect()
            let write = "publish siege.all \"" + String(repeating: "x", count: stoppedBytes) + "\"\n"
            return {
                for observer in observers { observer.reads = false }
                stage.send(String(repeating: write, count: 4), writer)
            }
        },
        // The crowd is read a little each before it has shown that it is slow.
        SmallAttack(name: "half-lines", measure: \.readBytes, most: 200_000, turnsMost: 160) { stage in
            let links = try (0..<512).map { _ in try stage.connect() }
            let piece = String(repeating: "x", count: 20_000)
            return { for link in links { stage.send(piece, link) } }
        },
        SmallAttack(name: "bytes", measure: \.readBytes, most: 600, turnsMost: 120) { stage in
            let links = try (0..<1_000).map { _ in try stage.connect() }
            return { for link in links { stage.send("{", link) } }
        },
    ]

    /// So many keys end in a turn, and the bystander's writes come to them.
    private static let endedMost = Deadlines.firedPerTurnMax + 8

    private static let leaving: [SmallAttack] = [
        SmallAttack(name: "leave-keys", measure: \.revisions, most: endedMost, hasFixedBudget: true) {
            stage in
            let link = try stage.connect()
            try stage.ask(writes(5_000, "siege.leave.k", #","while":"connected""#), link)
            return { stage.close(link) }
        },
        SmallAttack(name: "expire-keys", measure: \.revisions, most: endedMost, hasFixedBudget: true) {
            stage in
            let link = try stage.connect()
            try stage.ask(writes(5_000, "siege.expire.k", #","ttl":1000"#), link)
            return { stage.time.advance(nanoseconds: 2_000_000_000) }
        },
        SmallAttack(name: "leave-subscriptions") { stage in
            let link = try stage.connect()
            try stage.ask(lines(2_000) { #"{"op":"subscribe","sub":\#($0),"key":"siege.k\#($0)"}"# }, link)
            return { stage.close(link) }
        },
        SmallAttack(name: "goodbye-subscriptions") { stage in
            let link = try stage.connect()
            try stage.ask(lines(2_000) { #"{"op":"subscribe","sub":\#($0),"key":"siege.k\#($0)"}"# }, link)
            return { stage.send("goodbye\n", link) }
        },
        SmallAttack(name: "leave-calls") { stage in
            try leaveCalls(stage) { stage.close($0) }
        },
        SmallAttack(name: "goodbye-calls") { stage in
            try leaveCalls(stage) { stage.send("goodbye\n", $0) }
        },
        SmallAttack(name: "half-close-calls") { stage in
            try leaveCalls(stage) { $0.isHalfClosed = true }
        },
        SmallAttack(name: "leave-connections", measure: \.closings, most: 16) { stage in
            let links = try (0..<200).map { _ in try stage.connect() }
            return { for link in links { stage.close(link) } }
        },
    ]

    /// A server leaves with very many calls to answer.
    private static func leaveCalls(
        _ stage: SiegeStage, _ leave: @escaping (SiegeStage.Link) -> Void
    ) throws -> () throws -> Void {
        let server = try stage.connect()
        try stage.ask("serve siege.served", server)
        for _ in 0..<8 {
            let caller = try stage.connect()
            try stage.ask(lines(200) { #"{"op":"call","id":\#($0),"key":"siege.served"}"# }, caller)
        }
        return { leave(server) }
    }
}
