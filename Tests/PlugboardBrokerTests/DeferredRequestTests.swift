import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("A request that looks at very many keys goes on by turns", .computing)
struct WalkTests {
    private let hub = TestHub()
    private let (asker, writer): (Int, Int)

    init() {
        (asker, writer) = (hub.client(), hub.client())
        for key in ["a.1", "a.2", "b.1", "b.2", "c.1"] { hub.send("publish \(key) 1", from: writer) }
        hub.visitsMax = 1
        _ = hub.read(writer)
    }

    @Test("keys says what it says at once, in one reply")
    func keys() {
        let requests = [#"{"op":"keys"}"#, "keys *.1", "keys b.*", #"{"op":"keys","limit":2}"#, "keys no.*"]
        for request in requests {
            hub.visitsMax = 100
            hub.send(request, from: asker)
            let whole = hub.read(asker)
            #expect(whole.count == 1)
            hub.visitsMax = 1
            hub.send(request, from: asker)
            _ = hub.goOnToEnd()
            #expect(hub.read(asker) == whole, "\(request)")
        }
    }

    @Test("it is answered in one turn with as many keys as the limit, and not with one more")
    func limit() {
        hub.visitsMax = 6
        hub.send("keys **", from: asker)
        #expect(!hub.isBusy(asker))
        #expect(hub.read(asker).count == 1)
        hub.send("publish d 1", from: writer)
        hub.send("keys **", from: asker)
        #expect(hub.isBusy(asker))
        #expect(hub.goOnToEnd() == 1)
        #expect(!hub.isBusy(asker))
        #expect(Requests.visitsPerSlice == 4_096)
    }

    @Test("others are served in between, and two requests take turns")
    func others() {
        let other = hub.client()
        hub.send("keys *.none", from: asker)
        hub.send("keys *.1", from: other)
        hub.send(#"{"op":"publish","id":1,"key":"x","value":1}"#, from: writer)
        #expect(hub.read(writer).count == 1)
        #expect(hub.read(asker).isEmpty && hub.read(other).isEmpty)
        #expect(hub.goOnToEnd() > 6)
        #expect(hub.read(asker) == [#"{"ok":"keys","keys":[],"more":false}"#])
        #expect(hub.read(other).count == 1)
    }

    @Test("in a turn, each request looks at its slice once, even if there was time for more")
    func slices() {
        let bare = BareHub()
        let askers = [bare.client(), bare.client()]
        for number in 0..<9 { bare.send("publish k.\(number) 1", from: askers[0]) }
        bare.hub.requests = Requests(visitsMax: 1)
        for asker in askers { bare.take("keys k.*", from: asker) }
        bare.hub.goOnWithWalks()
        #expect(askers.map { bare.hub.sessions[$0].isBusy } == [true, true])
    }

    @Test("a subscription begins with what there is at its reply: written, made and deleted meanwhile")
    func snapshot() {
        hub.send(#"{"op":"subscribe","key":"*.*"}"#, from: asker)
        hub.goOn()
        hub.goOn()
        hub.send("publish a.1 2\npublish a.0 3\ndelete a.2\ndelete c.1\npublish c.2 4", from: writer)
        #expect(hub.read(asker).isEmpty)
        _ = hub.goOnToEnd()
        let lines = hub.read(asker)
        #expect(lines.first == #"{"ok":"subscribe","sub":1,"revision":10}"#)
        #expect(lines.last == #"{"event":"synced","sub":1,"revision":10}"#)
        let keys = lines.dropFirst().dropLast().map { line in
            line.split(separator: "\"").drop { $0 != "key" }.dropFirst(2).first.map(String.init)
        }
        #expect(keys == ["b.1", "b.2", "a.1", "a.0", "c.2"])
        hub.send("publish b.1 7", from: writer)
        #expect(hub.read(asker).count == 1)
    }

    @Test("values are owed in the order in which they were written, however they were found")
    func order() {
        hub.visitsMax = 100
        hub.send(
            #"{"op":"batch","writes":[{"op":"publish","key":"b.2","value":2},{"op":"publish","key":"a.2","value":2}]}"#,
            from: writer
        )
        hub.send("publish a.1 2", from: writer)
        let request = #"{"op":"subscribe","keys":["*.2","a.*","*.1"]}"#
        hub.send(request, from: asker)
        let whole = hub.read(asker).dropFirst().map { $0 }
        let other = hub.client()
        hub.visitsMax = 1
        hub.send(request, from: other)
        #expect(hub.goOnToEnd() > 5)
        #expect(hub.read(other).dropFirst() == whole[...])
        #expect(whole.count == 6)
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
        #expect(!hub.read(guest).contains { $0.contains(#""key":"a."#) })
    }

    @Test("what is refused at its end, because others took what is left of a quota, has owed nothing")
    func quota() throws {
        try hub.follow(
            #"{"rules":[{"allow":{"everything":["**"]}},{"user":7,"allow":{"everything":["**"]}}],"#
                + #""quotas":[{"user":7,"subscriptions":1}]}"#
        )
        let (guest, other) = (hub.client(user: 7), hub.client(user: 7))
        hub.send("subscribe *.*", from: guest)
        hub.goOn()
        #expect(hub.code(#"{"op":"subscribe","key":"x","initial":false}"#, from: other) == "ok")
        _ = hub.goOnToEnd()
        #expect(hub.read(guest).first?.contains(#""error":"limit""#) == true)
        for key in ["a.1", "a.2", "b.1", "b.2", "c.1"] { hub.send("delete \(key)", from: writer) }
        #expect(hub.keyCount == 1)
    }

    @Test("who leaves in between takes the request along")
    func leaving() {
        hub.send("subscribe *.none", from: asker)
        hub.goOn()
        hub.leave(asker)
        #expect(hub.goOnToEnd() == 0)
    }
}
