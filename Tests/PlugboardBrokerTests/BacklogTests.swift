import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Observers that fall behind", .computing)
struct ConflationTests {
    private let hub = TestHub()
    private let (observer, writer): (SessionHandle, SessionHandle)

    init() { (observer, writer) = (hub.client(), hub.client()) }

    private func subscribe(_ options: String = "", key: String = "**") {
        hub.send(#"{"op":"subscribe","key":"\#(key)"\#(options)}"#, from: observer)
        _ = hub.read(observer)
    }

    @Test("one that goes is looked at no more, whatever its turn had for it")
    func going() {
        subscribe()
        hub.hub.touch(observer)
        hub.hub.setAside(observer, .slow)
        hub.hub.forget(observer)
        let left = hub.hub.touched.count
        #expect(left == 0)
        hub.send("publish a 1", from: writer)
    }

    @Test("values before are kept as long as there is room; who would need more is told as after an absence")
    func valuesBefore() {
        hub.hub.delivery.olds = OldValues(bytesMax: 4)
        hub.send("publish a 12\npublish b 34\npublish c 56", from: writer)
        subscribe(#","initial":false,"old":true,"sub":1"#)
        let pair = #"{"x":1,"y":2}"#
        for round in 1...2 {
            hub.send("pause 1", from: observer)
            hub.send("publish a 1\npublish b 2\npublish c 3", from: writer)
            hub.send("resume 1", from: observer)
            let lines = hub.read(observer).filter { $0.contains(#""event":"update""#) }
            let olds = round == 1 ? [12, 34, nil] : [1, 2, 3]
            #expect(lines.map { $0.contains(#""old":"#) } == olds.map { $0 != nil })
            for (line, old) in zip(lines, olds) {
                #expect(old.map { line.contains(#""old":\#($0),"#) } ?? line.contains(#""value":3,"#))
            }
        }
        hub.send("unsubscribe 1\npublish a \(pair)", from: observer)
        subscribe(#","initial":false,"fields":["/x","/y"],"sub":2"#)
        hub.send("pause 2", from: observer)
        hub.send(#"publish a {"x":1,"y":3}"#, from: writer)
        hub.send("resume 2", from: observer)
        // With the value before, only the part that changed would be told.
        #expect(hub.read(observer).last?.contains(#""fields":{"/x":1,"/y":3}"#) == true)
        hub.send("unsubscribe 2\npublish b \(pair)", from: observer)
        subscribe(#","where":{"/x":{"==":1}},"sub":3"#)
        hub.send("pause 3", from: observer)
        hub.send("publish a {}\ndelete b", from: writer)
        hub.send("resume 3", from: observer)
        let lines = hub.read(observer).filter { $0.contains(#""event":"#) }
        #expect(lines.map { $0.contains(#""event":"leave""#) } == [true, false])
        #expect(lines.last?.contains(#""event":"delete""#) == true)
    }

    @Test("what answers a client's own lines waits as a part of its own, also beside what waits for the same")
    func ownAndOthers() {
        let backlog = SessionBacklog()
        var sent = ByteBuffer()
        for (line, isOwn): (StaticString, Bool) in [("call\n", false), ("reply\n", true), ("call\n", false)] {
            backlog.deferred.append(line.bytes, until: 7, isOwn: isOwn)
            let (hasOwn, isFirst) = (backlog.deferred.hasOwn, backlog.deferred.count == 5)
            #expect(hasOwn == !isFirst)
        }
        backlog.deferred.release(before: 7, to: &sent)
        let isHeldBack = sent.isEmpty
        #expect(isHeldBack)
        backlog.deferred.release(before: 8, to: &sent)
        let (text, isDone) = (String(sent.bytes), backlog.isEmpty && !backlog.deferred.hasOwn)
        #expect(text == "call\nreply\ncall\n" && isDone)
    }

    @Test("a client that is to be closed for two reasons is closed once, for the first")
    func once() {
        for reason in [CloseReason.slow, .quota] { hub.hub.setAside(observer, reason) }
        hub.endTurn()
        #expect(hub.read(observer).map { $0.contains(#"{"event":"bye","reason":"slow""#) } == [true])
    }

    @Test("where there is no room for those at the start, the newest is told, and the gap")
    func snapshotOfAllWithoutRoom() {
        let value = "\"" + String(repeating: "v", count: 500_000) + "\""
        for key in 1...12 { hub.send("publish k\(key) \(value)", from: writer) }
        hub.stopReading(observer)
        hub.send(#"{"op":"subscribe","key":"**","delivery":"all"}"#, from: observer)
        for key in 1...12 { hub.send("publish k\(key) \(key)", from: writer) }
        let lines = hub.read(observer)
        #expect(hub.waitingBytes(observer) == 0)
        #expect(hub.hub.sessions[observer].backlog == nil)
        for key in 1...12 {
            let ofKey = lines.filter { $0.contains(#""key":"k\#(key)""#) }
            let isTold = ofKey.last?.contains(#""revision":\#(12 + key),"value":\#(key),"#) == true
            #expect(isTold || lines.contains { $0.contains(#""event":"lagged""#) })
            let old = ofKey.filter { $0.contains(#""value":"v"#) }
            #expect(old == ofKey.filter { $0.contains(#""revision":\#(key),"#) })
        }
    }

    @Test(
        "with `every`, as many keys as are remembered are told at once, and one more with the next tick",
        arguments: 0...1
    )
    func fullWindow(more: Int) {
        hub.take(#"{"op":"subscribe","key":"*","every":1000}"#, from: observer)
        hub.take("emit first 1", from: writer)
        let subscription = hub.hub.sessions[observer].subscriptions.list[0]
        for number in 2..<(Limits.windowKeysMax + more) {
            hub.hub.matching[subscription].backlog?.window?.add(UInt64(number), at: 0)
        }
        hub.take("emit new 1", from: writer)
        let held = hub.hub.matching[subscription].backlog?.lines.count
        hub.hub.endWindow(of: subscription)
        let left = hub.hub.matching[subscription].backlog?.lines.count
        #expect(held == more && left == 0)
    }

    @Test(
        "a client is sent what it is owed some at a time, and one event more the next time", arguments: 0...1)
    func settled(more: Int) {
        // A share for each subscription, and two steps for a line of more than 64 bytes.
        let count = (Cost.settledMax - 1) / (Cost.share + 2) + 1
        for _ in 0..<count + more { subscribe(key: "k") }
        hub.stopReading(observer)
        hub.send("publish k 1", from: writer)
        #expect(hub.readSome(observer).count == count)
        #expect(hub.readSome(observer).count == more)
    }

    @Test("a line that just fits into the queue is kept, one byte more is dropped", arguments: [0, 1])
    func queueBound(excess: Int) {
        subscribe()
        hub.stopReading(observer)
        hub.send("emit e \"\"", from: writer)
        let overhead = hub.waitingBytes(observer)
        let room = Limits.queueBytesMax - 3 * overhead + excess
        for part in [room / 2, room - room / 2] {
            hub.send("emit e \"\(String(repeating: "x", count: part))\"", from: writer)
        }
        #expect(hub.waitingBytes(observer) <= Limits.queueBytesMax)
        #expect(hub.read(observer).last?.hasPrefix(#"{"event":"lagged""#) == (excess == 1))
    }

    @Test("a snapshot of any size streams within the bound, meets the live events, and is complete")
    func largeSnapshot() {
        let count = 5_000
        let value = String(repeating: "v", count: 1_000)
        for index in 0..<count { hub.send("publish k.\(index) \"\(value)\"", from: writer) }
        hub.send("subscribe k.*", from: observer)
        #expect(hub.waitingBytes(observer) <= Limits.outboxBytesMax)
        // While the snapshot is being sent: a key that was sent, one that wasn't, a new one, and one that
        // is deleted.
        hub.send(
            "publish k.0 1\npublish k.\(count - 1) 2\npublish k.new 3\ndelete k.\(count - 2)", from: writer
        )
        let lines = hub.read(observer)
        let synced = lines.firstIndex { $0.hasPrefix(#"{"event":"synced""#) }
        let initial = lines.filter { $0.contains(#""initial":true"#) }
        #expect(initial.count == count - 1)
        #expect(Set(initial.map { $0.prefix(60) }).count == count - 1)
        #expect(!lines.contains { $0.contains(#""event":"delete""#) })
        let revisions = lines.dropFirst().compactMap { number("revision", in: $0) }
        #expect(revisions == revisions.sorted())
        #expect(lines.filter { $0.contains(#""key":"k.0","#) }.count == 2)
        #expect(synced != nil)
    }

    @Test("who is owed one key more than the limit is given up, who is owed the limit is not")
    func owedLimit() {
        subscribe()
        hub.stopReading(observer)
        hub.send("publish a 1", from: writer)
        hub.isPretending = true
        hub.hub.sessions[observer].backlog?.owedCount = Limits.owedKeysMax - 1
        hub.send("publish b 1", from: writer)
        #expect(hub.isOpen(observer))
        hub.send("publish c 1", from: writer)
        #expect(!hub.isOpen(observer))
    }
}

@Suite("Observers that wait for an earlier phase", .computing)
struct LateNamesTests {
    @Test(
        "are told who was late: as many as the limit are named, and of one more it is said", arguments: 0...1)
    func limit(more: Int) {
        let hub = TestHub()
        let (observer, writer) = (hub.client(), hub.client())
        hub.send(#"{"op":"subscribe","key":"k","initial":false}"#, from: observer)
        let first = #"{"op":"subscribe","key":"k","phase":1,"ack":true,"initial":false}"#
        for _ in 0..<Limits.lateNamesMax + more { hub.send(first, from: hub.client()) }
        hub.send("publish k 1", from: writer)
        hub.expireAll(after: 1_001)
        let names = (0..<Limits.lateNamesMax).map { "\"#\($0 + 3)\"" }.joined(separator: ",")
        let end = #","unacked":[\#(names)]\#(more > 0 ? #","more":true"# : "")}"#
        #expect(hub.read(observer).last?.hasSuffix(end) == true)
    }

    @Test("are told when the time of those before is up, however much these were told: it is no more work")
    func cost() throws {
        /// The time that it takes for each of so many keys.
        func cost(_ keys: Int) throws -> UInt64 {
            let hub = TestHub()
            let (first, later, writer) = (hub.client(), hub.client(), hub.client())
            hub.send(#"{"op":"subscribe","key":"**","phase":1,"ack":true,"initial":false}"#, from: first)
            hub.send("subscribe **", from: later)
            for key in 0..<keys { hub.take("publish k\(key) 1", from: writer) }
            hub.dropTurn()
            let start = try ProcessUsage.threadNanoseconds()
            hub.expireAll(after: 1_001)
            return (try ProcessUsage.threadNanoseconds() - start) / UInt64(keys)
        }
        let (few, many) = (try cost(200), try cost(4_000))
        #expect(many < 4 * few)
    }
}

@Suite("Observers that were away", .computing)
struct ResumeTests {
    private let hub = TestHub()
    private let (observer, writer): (SessionHandle, SessionHandle)

    init() { (observer, writer) = (hub.client(), hub.client()) }

    /// Writes three keys so many times.
    private func write(_ count: Int) {
        for number in 1...count { hub.tell("publish k.\(number % 3) 1", from: writer) }
        _ = hub.read(writer)
    }

    private func subscribe(since: Int, _ options: String = "", key: String = "*") -> [String] {
        hub.send(#"{"op":"subscribe","key":"\#(key)","since":\#(since)\#(options)}"#, from: observer)
        return hub.read(observer)
    }

    private static func reply(_ revision: Int, resumed: Bool) -> String {
        #"{"ok":"subscribe","sub":1,"revision":\#(revision),"resumed":\#(resumed)}"#
    }

    @Test(
        "are resumed after as many writes as the history remembers, and not after one more",
        arguments: [0, 1],
        [0, 2]
    )
    func reach(excess: Int, before: Int) {
        let count = before + excess + History.writesMax
        write(count)
        let told = subscribe(since: before, key: "k.*")
        #expect(told.first == Self.reply(count, resumed: excess == 0))
        #expect(told.count == 5)
        #expect(told.contains { $0.contains("initial") } == (excess == 1))
    }

    @Test("are resumed also where the history goes back to the middle of a batch, or to an emit")
    func reachIntoBatch() {
        let batch = ["k.a", "k.b"].map { #"{"op":"publish","key":"\#($0)","value":1}"# }
        hub.send(#"{"op":"batch","writes":[\#(batch.joined(separator: ","))]}"#, from: writer)
        hub.send("subscribe bell\nemit bell 1", from: writer)
        write(History.writesMax - 1)
        // Of the two writes and the emit of revision 1, the emit is remembered.
        #expect(subscribe(since: 1, key: "k.*").first == Self.reply(History.writesMax, resumed: true))
        hub.send("unsubscribe 1", from: observer)
        _ = hub.read(observer)
        #expect(subscribe(since: 0, key: "k.*").first == Self.reply(History.writesMax, resumed: false))
    }
}
