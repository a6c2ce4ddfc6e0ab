import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("A request that looks at very many keys goes on by turns", .computing)
struct WalkTests {
    private let hub = TestHub()
    private let (asker, writer): (SessionHandle, SessionHandle)

    init() {
        (asker, writer) = (hub.client(), hub.client())
        for key in ["a.1", "a.2", "b.1", "b.2", "c.1"] { hub.send("publish \(key) 1", from: writer) }
        hub.visitsMax = 1
        _ = hub.read(writer)
    }

    @Test("it is answered in one turn with as many keys as the limit, and not with one more")
    func limit() {
        hub.visitsMax = 6 * Requests.partAtOnce
        hub.send("keys **", from: asker)
        #expect(!hub.isBusy(asker))
        #expect(hub.read(asker).count == 1)
        hub.send("publish d 1", from: writer)
        hub.send("keys **", from: asker)
        #expect(hub.isBusy(asker))
        #expect(hub.goOnToEnd() == 1)
        #expect(!hub.isBusy(asker))
        #expect(Requests.visitsPerSlice == 4_096 && Requests.partAtOnce == 64)
    }

    @Test("who comes back and has missed more than that begins later, and misses nothing")
    func resumed() {
        hub.visitsMax = 4
        hub.send(#"{"op":"subscribe","key":"**","since":1}"#, from: asker)
        #expect(!hub.isBusy(asker))
        #expect(hub.read(asker).count == 6)
        hub.send(#"{"op":"subscribe","key":"**","since":0,"sub":"all"}"#, from: asker)
        hub.send(#"{"op":"subscribe","key":"**","since":0,"id":0}"#, from: writer)
        #expect(hub.isBusy(asker) && hub.isBusy(writer))
        let other = hub.client()
        hub.send("publish a.1 2", from: other)
        #expect(hub.ask("sync", from: other).contains("revision"))
        #expect(hub.goOnToEnd() == 2)
        let told = hub.read(asker).filter { $0.contains(#""sub":"all""#) }
        #expect(told.first == #"{"ok":"subscribe","sub":"all","revision":6,"resumed":true}"#)
        #expect(told.count == 7 && told.last == #"{"event":"synced","sub":"all","revision":6}"#)
        #expect(told.contains { $0.contains(#""key":"a.1","revision":6,"value":2"#) })
        #expect(hub.read(writer).count == 7)
    }

    @Test("who has not the right any more at its end is told nothing")
    func rights() throws {
        let policy = #"{"rules":[{"allow":{"everything":["**"]}}]}"#
        try hub.follow(policy)
        let guest = hub.client(user: TestHub.owner)
        hub.send("subscribe *.*", from: guest)
        // The keys are found, and some of them are owed.
        for _ in 0..<8 { hub.goOn() }
        #expect(hub.isBusy(guest))
        try hub.follow(#"{"rules":[{"allow":{"everything":["**"]},"deny":{"subscribe":["a.*"]}}]}"#)
        _ = hub.goOnToEnd()
        let lines = hub.read(guest)
        #expect(lines.count == 5 && lines[0].contains(#""ok":"subscribe""#), "\(lines)")
        #expect(!lines.contains { $0.contains(#""key":"a."#) })
    }

    @Test("of snapshots that have found very many keys only some go on at a time, and all get to their end")
    func large() {
        let count = Requests.foundMax + 2 * Requests.visitsPerSlice
        for start in stride(from: 0, to: count, by: 128) {
            let lines = (start..<start + 128).map { "publish many.\($0) 1" }
            hub.send(lines.joined(separator: "\n"), from: writer)
        }
        hub.visitsMax = Requests.visitsPerSlice
        var askers = (0..<Requests.largeMax + 2).map { _ in hub.client() }
        for asker in askers { hub.send("subscribe many.*", from: asker) }
        var (most, turns) = (0, 0)
        while askers.contains(where: hub.isBusy), turns < 1_000 {
            let found = askers.map { hub.hub.sessions[$0].backlog?.gatheredBytes ?? 0 }
            // Who finds that it has found very many does so at the end of a slice.
            let large = (Requests.foundMax + Requests.visitsPerSlice) * OwedKey.countedBytes
            most = max(most, found.count { $0 > large })
            if most == Requests.largeMax, askers.count > Requests.largeMax + 1 {
                // Who leaves makes room for another one.
                hub.leave(askers.removeFirst())
            }
            hub.goOn()
            turns += 1
        }
        #expect(most == Requests.largeMax && turns < 1_000)
        #expect(askers.allSatisfy { hub.read($0).last?.contains("synced") == true })
    }

    @Test("what it has found counts as owed keys do, before they are owed")
    func gathered() throws {
        hub.send("subscribe *.*", from: asker)
        for _ in 0..<3 { hub.goOn() }
        let known = hub.hub.sessions[asker].backlog
        let owed = try #require(known)
        #expect(owed.owedCount == 0)
        #expect([1, 2, 3, 4, 5].map { $0 * OwedKey.countedBytes }.contains(owed.gatheredBytes))
        let bytes = hub.hub.sessions[asker].waitingBytes
        #expect(bytes == owed.gatheredBytes)
        hub.leave(asker)
        #expect(owed.gatheredBytes == 0)
    }

    @Test("a key that is written in each turn does not put the answer off for ever")
    func busyKeys() {
        hub.send("subscribe *.*", from: asker)
        var turns = 0
        while hub.isBusy(asker), turns < 1_000 {
            hub.goOn()
            turns += 1
            hub.send("publish a.1 \(turns)\npublish new.\(turns) 1", from: writer)
        }
        #expect(turns < 400)
        let lines = hub.read(asker)
        #expect(lines.count { $0.contains(#""key":"a.1""#) } <= 2)
        #expect(lines.contains { $0.contains("synced") })
    }

    @Test("who ends a subscription that is owed very much is answered at once; the keys are forgotten later")
    func unsubscribing() {
        let count = 3 * Requests.visitsPerSlice
        hub.visitsMax = .max
        for start in stride(from: 0, to: count, by: 64) {
            let lines = (start..<min(count, start + 64)).map { "publish many.\($0) 1" }
            hub.send(lines.joined(separator: "\n"), from: writer)
        }
        hub.send("subscribe many.*\npause 1", from: asker)
        hub.visitsMax = 1_000
        hub.send("unsubscribe 1", from: asker)
        #expect(hub.read(asker).last?.contains(#""ok":"unsubscribe""#) == true)
        #expect(hub.goOnToEnd() > count / 2_000)
        hub.send("subscribe many.1", from: asker)
        #expect(hub.read(asker).count == 3)
    }

    @Test(
        "what is written meanwhile is in a snapshot of parts, also if none of these has changed",
        arguments: ["", #","delivery":"all""#, #","every":1000"#, #","ack":true"#]
    )
    func writtenParts(option: String) {
        for number in 0..<6 { hub.send(#"publish part.\#(number) {"n":1,"m":0}"#, from: writer) }
        hub.send(#"{"op":"subscribe","key":"part.*","fields":["/n"]\#(option)}"#, from: asker)
        var writes = 0
        while hub.isBusy(asker) {
            hub.send(#"patch part.\#(writes % 6) {"m":\#(writes)}"#, from: writer)
            writes += 1
            hub.goOn()
        }
        #expect(writes > 6)
        let initial = hub.read(asker).filter { $0.contains(#""initial":true"#) }
        _ = hub.read(writer)
        #expect(initial.count == 6 && initial.allSatisfy { $0.contains(#""fields":{"/n":1}"#) }, "\(initial)")
        for key in 0..<6 {
            let line = initial.first { $0.contains(#""key":"part.\#(key)""#) } ?? ""
            let written = number("revision", in: hub.ask("get part.\(key)", from: writer))
            #expect(number("revision", in: line) == written, "\(initial)")
        }
    }

    @Test("a page of keys has more to follow, although two of them were deleted while others were looked for")
    func page() {
        for number in 10..<30 { hub.send("publish page.\(number) 1", from: writer) }
        hub.send(#"{"op":"keys","key":"page.*","limit":10}"#, from: asker)
        for _ in 0..<4 { hub.goOn() }
        #expect(hub.isBusy(asker))
        hub.send("delete page.10\ndelete page.11", from: writer)
        _ = hub.goOnToEnd()
        let reply = hub.read(asker).last ?? ""
        #expect(!reply.contains("page.10") && reply.contains(#""more":true"#), "\(reply)")
        // The page is as long as it may be.
        #expect(reply.contains("page.21") && !reply.contains("page.22"), "\(reply)")
    }

    @Test("where more was written meanwhile than the history has, nothing is missing either")
    func forgottenHistory() {
        hub.send("subscribe *.*", from: asker)
        hub.goOn()
        hub.send("publish a.0 3", from: writer)
        for _ in 0...(History.writesMax / 64) {
            hub.send(String(repeating: "publish one 1\n", count: 64), from: writer)
        }
        _ = hub.goOnToEnd()
        let lines = hub.read(asker)
        #expect(lines.count == 8)
        #expect(lines.contains { $0.contains(#""key":"a.0""#) })
    }

    @Test("a subscription that isn't answered yet counts for its user's quota, until its client leaves")
    func quota() throws {
        try hub.follow(
            #"{"rules":[{"allow":{"everything":["**"]}},{"user":7,"allow":{"everything":["**"]}}],"#
                + #""quotas":[{"user":7,"subscriptions":1}]}"#
        )
        let (guest, other) = (hub.client(user: 7), hub.client(user: 7))
        hub.send("subscribe *.*", from: guest)
        for _ in 0..<8 { hub.goOn() }
        #expect(hub.isBusy(guest))
        #expect(hub.code(#"{"op":"subscribe","key":"x","initial":false}"#, from: other) == "limit")
        for key in ["a.1", "a.2", "b.1", "b.2", "c.1"] { hub.send("delete \(key)", from: writer) }
        hub.leave(guest)
        _ = hub.goOnToEnd()
        #expect(hub.keyCount == 0)
        #expect(hub.code(#"{"op":"subscribe","key":"x","initial":false}"#, from: other) == "ok")
    }

    @Test(
        "what is written before the answer is part of the snapshot, each key once and as it is by then",
        arguments: ["", #","delivery":"all""#, #","every":1000"#, #","old":true"#, #","diff":true"#], 0..<9
    )
    func meanwhile(options: String, turns: Int) {
        hub.send(#"{"op":"subscribe","key":"*.*"\#(options)}"#, from: asker)
        for _ in 0..<turns { hub.goOn() }
        hub.send("publish b.1 2\nemit b.1 3\ndelete a.2\npublish new.1 1", from: writer)
        hub.send("publish new.2 1\ndelete new.2\npublish a.1 2\npublish b.1 4", from: writer)
        #expect(hub.isBusy(asker))
        _ = hub.goOnToEnd()
        let lines = hub.read(asker)
        let told = lines.compactMap { line in
            line.firstMatch(of: #/"key":"([a-z.0-9]+)","revision":(\d+),"value":(\d)/#).map {
                "\($0.1)=\($0.3)"
            }
        }
        #expect(told == ["b.2=1", "c.1=1", "new.1=1", "a.1=2", "b.1=4"])
        #expect(lines.count == 7 && lines[0].contains(#""ok":"subscribe""#) && lines[6].contains("synced"))
        #expect(lines[1..<6].allSatisfy { $0.contains(#""initial":true"#) && !$0.contains("skipped") })
    }
}

@Suite("filtered snapshots of very many keys", .computing)
struct FilteredSnapshotTests {
    private static let keys = 20_000
    private let hub = TestHub()
    private let (writer, observer): (SessionHandle, SessionHandle)

    init() {
        (writer, observer) = (hub.client(), hub.client())
        hub.visitsMax = .max
        for number in 0..<Self.keys {
            hub.take("publish k.\(number) \(number)", from: writer)
            if number % 1000 == 0 { hub.dropTurn() }
        }
        hub.dropTurn()
    }

    private func subscribe(_ options: String = "") {
        let condition = #""where":{"":{">=":\#(Self.keys - 2)}}"#
        hub.send(#"{"op":"subscribe","key":"**",\#(condition)\#(options)}"#, from: observer)
        #expect(hub.isBusy(observer))
    }

    @Test(
        "are held against the conditions a part at a time, and come to the same",
        arguments: ["", #","old":true"#, #","delivery":"all""#]
    )
    func parts(options: String) throws {
        subscribe(options)
        let (slices, lines) = (hub.goOnToEnd(), hub.read(observer))
        #expect(slices >= Self.keys * Filter.stepsMin * 3 / FilterEvaluator.examinedStepsMax - 1)
        #expect(lines.count == 4)
        #expect(try #require(lines.first).contains(#""ok":"subscribe""#))
        #expect(lines.compactMap { number("value", in: $0) } == [Self.keys - 2, Self.keys - 1])
        #expect(lines.dropFirst().allSatisfy { $0.contains(#""initial":true"#) || $0.contains("synced") })
        #expect(try #require(lines.last).contains("synced"))
    }

    @Test("are told as the keys are by then: what came to match once, what ceased to not at all")
    func changes() {
        subscribe()
        let (first, last) = (Self.keys - 3, Self.keys - 1)
        hub.send("publish k.\(first) \(Self.keys)\npublish k.\(last) 0", from: writer)
        hub.send("delete k.\(Self.keys - 4)", from: writer)
        _ = hub.goOnToEnd()
        let told = hub.read(observer).filter { $0.contains("value") }
        #expect(told.compactMap { number("value", in: $0) } == [Self.keys - 2, Self.keys])
        hub.send("publish k.\(first) 0", from: writer)
        #expect(hub.read(observer).map { $0.contains(#""event":"leave""#) } == [true])
    }

    @Test("don't make an observer of who isn't answered yet")
    func unbegun() {
        subscribe()
        let key = "k.\(Self.keys - 1)"
        for question in ["emit \(key) 1", "delete \(key)"] {
            let reply = hub.ask("explain \(question)", from: writer)
            #expect(reply.contains(#""observers":[],"note":"nobody observes this key"#), "\(reply)")
        }
        #expect(hub.ask("who \(key)", from: writer).contains(#""observers":[]"#))
        // Nor is an emit remembered, or its key.
        hub.send("emit \(key) 1\nemit new 1", from: writer)
        let why = hub.ask("why \(key)\nwhy new", from: writer)
        #expect(!why.contains(#""op":"emit""#) && why.contains("not_found"), "\(why)")
        _ = hub.goOnToEnd()
        let reply = hub.ask("explain delete \(key)", from: writer)
        #expect(reply.contains(#""outcome":"sent""#), "\(reply)")
    }
}
