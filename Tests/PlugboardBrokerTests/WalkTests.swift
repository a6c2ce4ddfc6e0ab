import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("A request that looks at very many keys goes on by turns", .oneAtATime)
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
        hub.goOn()
        try hub.follow(#"{"rules":[{"allow":{"everything":["**"]},"deny":{"subscribe":["a.*"]}}]}"#)
        _ = hub.goOnToEnd()
        #expect(!hub.read(guest).contains { $0.contains(#""key":"a."#) })
    }

    @Test("who leaves in between takes the request along")
    func leaving() {
        hub.send("subscribe *.none", from: asker)
        hub.goOn()
        hub.leave(asker)
        #expect(hub.goOnToEnd() == 0)
    }
}
