// Rights: what an observer gets of keys that it may not see for a while, because of the name that it has taken, and who
// may come at all. What each right allows is in `protocol/transcripts/rights*.txt`.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("rights that come and go", .computing)
struct RightsTests {
    private let hub = TestHub()
    private let (observer, writer): (Int, Int)

    private static let policy = """
        {"rules": [{"allow": {"everything": ["**"]}}, {"plugin": "ada", "deny": {"subscribe": ["b.**"]}},
                   {"plugin": "eve", "deny": {"subscribe": ["a.**"]}}]}
        """

    init() throws {
        try hub.follow(Self.policy)
        (observer, writer) = (hub.client(), hub.client())
    }

    @Test("only the broker's own user, root and those whom a rule is about may connect")
    func admission() throws {
        let bare = TestHub()
        #expect(bare.admits(user: TestHub.owner) && bare.admits(user: 0))
        #expect(!bare.admits(user: 7) && !bare.admits(user: .max))
        try hub.follow(#"{"rules":[{"user":7,"allow":{}}]}"#)
        #expect(hub.admits(user: TestHub.owner) && hub.admits(user: 0) && hub.admits(user: 7))
        #expect(!hub.admits(user: 8) && !hub.admits(user: .max))
        try hub.follow(#"{"rules":[{"group":50,"allow":{}},{"user":9,"group":60,"deny":{}}]}"#)
        #expect(hub.admits(user: 8, groups: [3, 50]) && !hub.admits(user: 8, groups: [60]))
        #expect(hub.admits(user: 9, groups: [60]) && !hub.admits(user: 9))
        try hub.follow(#"{"rules":[{"user":"*","plugin":"cart","allow":{}}]}"#)
        #expect(hub.admits(user: 8) && !hub.admits(user: .max))
    }

    @Test("emits to keys that nobody may be told of leave nothing behind")
    func unseen() {
        ask("hello ada\nsubscribe *.*")
        let before = hub.observableCount
        for index in 0..<100 { write("emit b.secret\(index) 1") }
        #expect(hub.observableCount == before)
    }

    private func ask(_ line: String) { hub.send(line, from: observer) }
    private func write(_ lines: String) { hub.send(lines, from: writer) }
    /// What the observer is told about keys.
    private func told() -> [String] { hub.read(observer).filter { $0.contains(#","key":"#) } }

    /// Ways to wait.
    enum Waiting: CaseIterable {
        case pause, slow, every, phase, all, condition, difference, fields, old
    }

    /// Subscribes, and has something owed from the revision after the first on.
    private func wait(_ waiting: Waiting) {
        let options =
            switch waiting {
            case .every: #","every":1000"#
            case .phase: #","phase":7"#
            case .all: #","delivery":"all""#
            case .condition: #","where":{"/n":{">":0}}"#
            case .difference: #","diff":true"#
            case .fields: #","fields":["/n"]"#
            case .old: #","old":true"#
            case .pause, .slow: ""
            }
        write(#"publish b.k {"n":1}"#)
        ask(#"{"op":"subscribe","sub":"s","keys":["a.**","b.**"]\#(options)}"#)
        switch waiting {
        case .slow:
            _ = hub.read(observer)
            hub.stopReading(observer)
        case .every: write(#"publish b.k {"n":1}"#)
        case .phase: write(#"{"op":"subscribe","key":"b.k","phase":1,"ack":true,"initial":false}"#)
        default: ask(#"{"op":"pause","sub":"s"}"#)
        }
        if waiting != .slow { _ = hub.read(observer) }
    }

    private func goOn(_ waiting: Waiting) {
        switch waiting {
        case .slow: break
        case .every: hub.expireAll(after: 5_000)
        case .phase: hub.expireAll(after: 5_000)
        default: ask(#"{"op":"resume","sub":"s"}"#)
        }
    }

    @Test(
        "nothing is told that was written after the right was lost; what is allowed again is told as it is now",
        arguments: Waiting.allCases
    )
    func lostAndFound(waiting: Waiting) {
        wait(waiting)
        write(#"publish b.k {"n":2}"#)
        ask("hello ada")
        write(#"publish b.k {"n":3}"#)
        goOn(waiting)
        #expect(told() == [])
        ask("hello bob")
        let lines = told()
        #expect(lines.count == 1, "\(lines)")
        #expect(lines.allSatisfy { $0.contains(#""revision":\#(waiting == .every ? 4 : 3),"#) }, "\(lines)")
        #expect(lines.allSatisfy { $0.contains(#"{"n":3}"#) || $0.contains(#"{"/n":3}"#) }, "\(lines)")
        write(#"publish b.k {"n":4}"#)
        hub.expireAll(after: 20_000)
        #expect(told().count == 1)
    }

    @Test(
        "who may see a key again before it goes on waits on, and is told it once", arguments: Waiting.allCases
    )
    func foundBefore(waiting: Waiting) {
        wait(waiting)
        write(#"publish b.k {"n":2}"#)
        ask("hello ada\nhello bob")
        goOn(waiting)
        let lines = told()
        #expect(lines.count == 1 && lines[0].contains("2}"), "\(lines)")
    }

    @Test(
        "a key that was deleted meanwhile is told as gone, with whoever deleted it",
        arguments: Waiting.allCases
    )
    func deleted(waiting: Waiting) {
        wait(waiting)
        write(#"publish b.k {"n":2}"#)
        ask("hello ada")
        write("delete b.k\nemit b.k 5")
        goOn(waiting)
        ask("hello bob")
        let lines = told()
        #expect(lines.count == 1, "\(lines)")
        #expect(
            lines.allSatisfy { $0.contains(#"{"event":"delete""#) && $0.contains(##""by":"#2""##) },
            "\(lines)"
        )
    }

    @Test("keys that are withheld for ever keep nothing once the subscription ends")
    func ended() {
        let before = hub.keyCount
        ask("subscribe b.**\npause 1")
        for number in 0..<300 { write("publish b.\(number) 1") }
        ask("hello ada")
        for number in 0..<300 { write("delete b.\(number)") }
        ask("unsubscribe 1")
        hub.endTurn()
        #expect(hub.keyCount == before)
    }

    @Test(
        "a name that hides some lines leaves the others whole, with those who were late",
        arguments: [0, 200, 40_000]
    )
    func lateNames(padding: Int) {
        let text = "\"\(String(repeating: "x", count: padding))\""
        ask(#"{"op":"subscribe","sub":"s","keys":["a.**","b.**"],"phase":9,"delivery":"all"}"#)
        write("hello price\n" + #"{"op":"subscribe","key":"*.k","phase":1,"ack":true,"initial":false}"#)
        write("publish a.k \(text)\nemit b.k \(text)\nemit a.l \(text)\npublish a.k \(text)")
        ask(#"{"op":"pause","sub":"s"}"#)
        hub.expireAll(after: 1_001)
        ask("hello ada")
        ask(#"{"op":"resume","sub":"s"}"#)
        let lines = told()
        #expect(lines.map { $0.contains(#""key":"a.k""#) } == [true, false, true])
        #expect(lines.allSatisfy { $0.hasPrefix(#"{"event":""#) && $0.contains(text) && $0.hasSuffix("}") })
        #expect(lines.map { $0.hasSuffix(#","by":"price","unacked":["price"]}"#) } == [true, false, true])
    }

    @Test("whatever comes and goes, each line has the value and the revision of one write", arguments: 0..<40)
    func random(seed: Int) {
        var random = SeededRandom(seed)
        let keys = ["a.k", "a.l", "b.k", "b.l"]
        var values: [String: String] = [:]
        var hidden = "none"
        ask(#"{"op":"subscribe","sub":"s","keys":["a.**","b.**"],"phase":\#(seed % 2 == 0 ? 5 : 8)}"#)
        ask(#"{"op":"subscribe","sub":"t","keys":["a.**","b.**"],"delivery":"all"}"#)
        write(#"{"op":"subscribe","sub":"w","key":"**","phase":6,"ack":true,"initial":false}"#)
        for step in 1...120 {
            switch random.below(8) {
            case 0:
                check(hub.read(observer), values, hidden)
                let name = ["ada", "bob", "eve"][random.below(3)]
                hidden = ["ada": "b.", "eve": "a."][name] ?? "none"
                ask("hello \(name)")
            case 1: ask(#"{"op":"pause","sub":"\#(["s", "t"][random.below(2)])"}"#)
            case 2: ask(#"{"op":"resume","sub":"\#(["s", "t"][random.below(2)])"}"#)
            case 3: hub.expireAll(after: UInt64(step) * 700)
            case 4: write(#"{"op":"ack","sub":"w","revision":\#(hub.revision)}"#)
            case 5: hub.stopReading(observer)
            default:
                let key = keys[random.below(keys.count)]
                write("publish \(key) \(step)")
                values["\(key) \(hub.revision)"] = "\(step)"
            }
            if random.oneIn(2) { check(hub.read(observer), values, hidden) }
        }
    }

    private func check(_ lines: [String], _ values: [String: String], _ hidden: String) {
        for line in lines where line.hasPrefix(#"{"event":"update""#) {
            guard let found = line.firstMatch(of: #/"key":"([^"]+)","revision":(\d+),"value":(\d+)/#) else {
                Issue.record("\(line)")
                continue
            }
            #expect(values["\(found.1) \(found.2)"] == String(found.3), "\(line)")
            #expect(!found.1.hasPrefix(hidden), "\(line)")
        }
    }
}
