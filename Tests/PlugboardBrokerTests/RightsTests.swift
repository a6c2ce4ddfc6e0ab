// Rights: what becomes of what waits for a client that takes a name under which it may see less, and who may come at all. What each right allows is in `protocol/transcripts/rights*.txt`.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("rights that come and go", .computing)
struct RightsTests {
    private let hub = TestHub()
    private let (observer, writer): (SessionHandle, SessionHandle)

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
        let before = hub.hub.keyspace.observableCount
        for index in 0..<100 { write("emit b.secret\(index) 1") }
        #expect(hub.hub.keyspace.observableCount == before)
    }

    private func ask(_ line: String) { hub.send(line, from: observer) }
    private func write(_ lines: String) { hub.send(lines, from: writer) }

    /// What an event waits for: a client that is slow, or whose subscription is paused or has such options.
    private static let waits = [
        "", "slow", #","every":1000"#, #","phase":7"#, #","delivery":"all""#, #","where":{"/n":{">":0}}"#,
        #","diff":true"#, #","fields":["/n"]"#, #","old":true"#,
    ]

    /// Subscribes to keys, and has an event of one of them owed.
    private func wait(_ waiting: String, for key: String, of keys: String) {
        let publish = "publish \(key) "
        write(publish + #"{"n":1}"#)
        ask(#"{"op":"subscribe","sub":"s","keys":[\#(keys)]\#(waiting == "slow" ? "" : waiting)}"#)
        if waiting == "slow" {
            _ = hub.read(observer)
            hub.stopReading(observer)
        } else {
            if waiting.contains("every") {
                write(publish + #"{"n":1}"#)
            } else if waiting.contains("phase") {
                write(#"{"op":"subscribe","key":"\#(key)","phase":1,"ack":true,"initial":false}"#)
            } else {
                ask("pause s")
            }
            _ = hub.read(observer)
        }
        write(publish + #"{"n":2}"#)
    }

    private func goOn(_ waiting: String) {
        if waiting.contains("every") || waiting.contains("phase") {
            hub.expireAll(after: 5_000)
        } else if waiting != "slow" {
            ask("resume s")
        }
    }

    @Test("who may not see any more what waits for it is sent away", arguments: waits)
    func revoked(waiting: String) {
        wait(waiting, for: "b.k", of: #""a.**","b.**""#)
        ask("hello ada")
        write(#"publish b.k {"n":3}"#)
        goOn(waiting)
        let lines = hub.read(observer)
        #expect(lines.last?.hasPrefix(#"{"event":"bye","reason":"revoked""#) == true, "\(lines)")
        #expect(!lines.contains { $0.contains("b.k") }, "\(lines)")
    }

    @Test("who may see all that a subscription may match gets what waits", arguments: waits)
    func kept(waiting: String) {
        wait(waiting, for: "a.k", of: #""a.**""#)
        ask("hello ada")
        goOn(waiting)
        let lines = hub.read(observer)
        #expect(lines.count { $0.contains("a.k") } == 1 && hub.isOpen(observer), "\(lines)")
    }

    @Test("whatever comes and goes, each line is one write, in order, and may be seen", arguments: 0..<40)
    func random(seed: Int) {
        var random = SeededRandom(seed)
        let keys = ["a.k", "a.l", "b.k", "b.l"]
        var values: [String: String] = [:]
        var (observer, hidden, last) = (SessionHandle.none, "none", 0)
        write(#"{"op":"subscribe","sub":"w","key":"**","phase":6,"ack":true,"initial":false}"#)
        for step in 1...200 {
            if !hub.isOpen(observer) {
                (observer, hidden, last) = (hub.client(), "none", 0)
                let options = seed % 2 == 0 ? #","phase":8"# : #","delivery":"all""#
                hub.send(#"{"op":"subscribe","sub":"s","keys":["a.**","b.**"]\#(options)}"#, from: observer)
            }
            switch random.below(8) {
            case 0:
                check(hub.read(observer), values, hidden, &last)
                let name = ["ada", "bob", "eve"][random.below(3)]
                hidden = ["ada": "b.", "eve": "a."][name] ?? "none"
                hub.send("hello \(name)", from: observer)
            case 1: hub.send(#"{"op":"pause","sub":"s"}"#, from: observer)
            case 2: hub.send(#"{"op":"resume","sub":"s"}"#, from: observer)
            case 3: hub.expireAll(after: UInt64(step) * 700)
            case 4: write(#"{"op":"ack","sub":"w","revision":\#(hub.hub.revision)}"#)
            default:
                let key = keys[random.below(keys.count)]
                write("publish \(key) \(step)")
                values["\(key) \(hub.hub.revision)"] = "\(step)"
            }
            if random.oneIn(2) { check(hub.read(observer), values, hidden, &last) }
        }
    }

    private func check(_ lines: [String], _ values: [String: String], _ hidden: String, _ last: inout Int) {
        for line in lines where line.hasPrefix(#"{"event":"update""#) {
            guard let found = line.firstMatch(of: #/"key":"([^"]+)","revision":(\d+),"value":(\d+)/#) else {
                Issue.record("\(line)")
                continue
            }
            #expect(values["\(found.1) \(found.2)"] == String(found.3), "\(line)")
            #expect(!found.1.hasPrefix(hidden), "\(line)")
            let revision = Int(found.2) ?? 0
            #expect(revision > last, "\(line)")
            last = revision
        }
    }
}
