// What the hub does with the journal. A durable request, even one that writes nothing, is answered when everything
// that came before is on disk.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker
@testable import PlugboardJournal

@Suite("Durable requests", .computing)
struct DurableHubTests {
    private let test = TestHub()
    private let disk = SimulatedDisk()
    private let client: SessionHandle

    init() throws {
        try test.keepJournal(on: disk)
        test.hub.supervision.supervisor = 7
        client = test.client(process: 7)
    }

    private func batch(_ id: Int, _ writes: String = "") -> String {
        #"{"op":"batch","id":\#(id),"durable":true,"writes":[\#(writes)]}"#
    }

    /// Ends a turn as the loop does. Returns the answers to what waited for the disk.
    private func keep() throws -> [String] {
        var answers: [String] = []
        // The news of a sync may come in the next turn.
        for _ in 0..<3 {
            try test.hub.keepRecords()
            answers += test.lines(of: client)
            test.dropTurn()
        }
        return answers
    }

    private static let emit = #"{"op":"emit","key":"a","value":1}"#

    @Test(
        "a batch with keys that aren't kept leaves a whole record, or its revision alone",
        arguments: [true, false]
    )
    func passed(alone: Bool) throws {
        let own = #"{"op":"publish","key":"$broker.plugins.x","value":{"name":"x"},"while":"connected"}"#
        let writes = alone ? own : #"\#(own),{"op":"publish","key":"a","value":1}"#
        test.tell(batch(1, writes), from: client)
        _ = try keep()
        let next = TestHub()
        try next.keepJournal(on: disk)
        let (revision, keys) = (next.hub.revision, next.ask("keys", from: next.client()))
        #expect(revision == 1 && keys.contains(#""key":"a""#) == !alone)
    }

    @Test("what writes nothing waits for what came before, and only for that", arguments: ["", emit])
    func nothing(writes: String) throws {
        #expect(test.tell(batch(1, writes), from: client) == [#"{"ok":"batch","id":1,"revision":0}"#])
        test.tell(#"{"op":"publish","key":"a","value":1}"#, from: client)
        #expect(test.tell(batch(2, writes), from: client).isEmpty)
        #expect(test.tell(batch(3, writes), from: client).isEmpty)
        let syncs = disk.kinds.count { $0 == "sync" }
        #expect(
            try keep() == [#"{"ok":"batch","id":2,"revision":1}"#, #"{"ok":"batch","id":3,"revision":1}"#]
        )
        #expect(disk.kinds.count { $0 == "sync" } > syncs)
        #expect(test.tell(batch(4, writes), from: client) == [#"{"ok":"batch","id":4,"revision":1}"#])
        #expect(test.hub.sessions[client].awaitedWrites == 0)
        #expect(test.brokenInvariant() == nil)
    }

    @Test("what is answered counts no more: real writes are still possible after very many")
    func count() throws {
        for id in 0...Limits.durablesMax {
            test.take(batch(id), from: client)
            test.take(#"{"op":"batch","durable":true,"writes":[]}"#, from: client)
        }
        let answers = test.lines(of: client)
        #expect(answers.count == Limits.durablesMax + 1 && !answers.contains { $0.contains("error") })
        test.take(#"{"op":"publish","key":"a","value":1}"#, from: client)
        // The limit is of those that wait.
        for id in 1...Limits.durablesMax { test.take(batch(id), from: client) }
        #expect(test.lines(of: client).isEmpty)
        #expect(test.tell(batch(0), from: client).first?.contains(#""error":"limit""#) == true)
        #expect(try keep().count == Limits.durablesMax)
        #expect(test.tell(batch(0), from: client) == [#"{"ok":"batch","id":0,"revision":1}"#])
    }

    @Test("a write of a key that isn't kept is answered, too")
    func reserved() throws {
        let report = #"{"name":"lamp","state":"running","pid":1200}"#
        for id in 1...2 {
            let line =
                #"{"op":"publish","id":\#(id),"key":"$broker.plugins.lamp","value":\#(report),"#
                + #""while":"connected","durable":true}"#
            #expect(test.tell(line, from: client).isEmpty)
            #expect(try keep() == [#"{"ok":"publish","id":\#(id),"revision":\#(id)}"#])
        }
        #expect(test.tell(batch(3), from: client) == [#"{"ok":"batch","id":3,"revision":2}"#])
    }

    @Test("goodbye waits for them, and is the last answer", arguments: ["", emit])
    func goodbye(writes: String) throws {
        test.take(#"{"op":"publish","id":1,"key":"a","value":1,"durable":true}"#, from: client)
        test.take(batch(2, writes), from: client)
        test.take(#"{"op":"goodbye","id":3}"#, from: client)
        test.take(#"{"op":"publish","id":4,"key":"a","value":2}"#, from: client)
        #expect(test.lines(of: client).isEmpty)
        let answers = try keep()
        #expect(
            answers == [#"{"ok":"publish","id":1,"revision":1}"#, #"{"ok":"batch","id":2,"revision":1}"#]
        )
        test.hub.goOnParting(client)
        let last = test.lines(of: client)
        #expect(last.first == #"{"ok":"goodbye","id":3,"revision":1}"#)
        #expect(last.count == 2 && last[1].hasPrefix(#"{"event":"bye","reason":"goodbye""#))
        test.hub.goOnParting(client)
        #expect(test.lines(of: client).isEmpty)
    }
}

/// When the journal is asked for a sync, because durable writes wait for it.
@Suite("Durable replies", .computing)
struct DurableRepliesTests {
    private static func add(_ count: Int, to replies: inout DurableReplies, mark: UInt64) {
        for _ in 0..<count {
            let reply = DurableReplies.Waiting(.publish, from: .none, isTold: true, revision: mark)
            replies.add(reply, upTo: mark, id: Span(), sum: Span())
        }
    }

    private static func answer(_ replies: inout DurableReplies, upTo mark: UInt64) {
        replies.take(upTo: mark) { _, _, _ in }
    }

    /// How many a sync has answered, for how many more it was too early, and who comes then: so many, at what time
    /// in nanoseconds, and whether the next sync is due.
    private static let cases: [(answered: Int, early: Int, then: [(added: Int, at: UInt64, isDue: Bool)])] = [
        // The first writes wait for nobody.
        (0, 0, [(1, 1, true)]),
        // Those whom the last sync answered are waited for, with those who had waited meanwhile.
        (2, 1, [(0, 1_000, false), (1, 3_000, false), (1, 4_000, true)]),
        // Nobody is waited for who doesn't write soon.
        (8, 0, [(1, 1_000, false), (0, 100_999, false), (0, 101_000, true)]),
        // Who trickles in is not waited for without end.
        (1_000, 0, (0...40).map { (1, 1_000 + $0 * 50_000, $0 == 40) }),
    ]

    @Test("a sync waits a while for those who will want one soon", arguments: cases)
    func gathered(answered: Int, early: Int, then: [(added: Int, at: UInt64, isDue: Bool)]) {
        var replies = DurableReplies()
        Self.add(answered, to: &replies, mark: 1)
        if answered > 0 { replies.countAsked() }
        Self.add(early, to: &replies, mark: 2)
        Self.answer(&replies, upTo: 1)
        for step in then {
            Self.add(step.added, to: &replies, mark: 3)
            let isDue = replies.hasGathered(at: step.at)
            #expect(isDue == step.isDue, "\(step.at)")
        }
    }
}

extension Hub {
    fileprivate mutating func readAgain() throws {
        for session in sessions.handles { read(for: session) }
        let news = try durability.journal?.takeNews(&durability.records) ?? []
        for case .read(let piece) in news { take(piece) }
    }
}

@Suite("What is read from the journal again", .computing)
struct ReadAgainTests {
    @Test("counts as long as its client doesn't read it")
    func counts() throws {
        let (test, disk) = (TestHub(), SimulatedDisk())
        disk.capacity = 1 << 30
        try test.keepJournal(on: disk)
        let (observer, writer) = (test.client(), test.client())
        test.send(#"{"op":"subscribe","key":"a","delivery":"all"}"#, from: observer)
        _ = test.read(observer)
        test.stopReading(observer)
        let value = String(repeating: "x", count: 100_000)
        for number in 1...20 { test.send("publish a \"\(number) \(value)\"", from: writer) }
        _ = try test.hub.durability.write(revision: test.hub.revision)
        var lines = 0
        while test.hub.sessions[observer].backlog?.replaying.isEmpty == true {
            lines += test.readSome(observer).count
        }
        try test.hub.readAgain()
        let known = test.hub.sessions[observer].backlog
        let backlog = try #require(known)
        #expect(backlog.gatheredBytes > 200_000)
        let bytes = test.hub.sessions[observer].waitingBytes
        #expect(bytes >= backlog.gatheredBytes)
        test.endTurn()
        while lines < 20 {
            lines += test.readSome(observer).count
            try test.hub.readAgain()
        }
        #expect(backlog.gatheredBytes == 0)
    }
}

/// Values that end while the disk under the journal is full. Nobody may be told of an end that a broker would not
/// know after it was killed.
@Suite("while the disk is full", .someAtATime)
struct FullDiskTests {
    private let test = TestHub()
    private let disk = SimulatedDisk()

    init() throws {
        disk.capacity = 1_200_000
        try test.keepJournal(on: disk)
    }

    /// Ends a turn. Returns whether everything was written.
    private func endTurn() throws -> Bool {
        try test.keepTurn()
        return test.hub.durability.isWritten
    }

    private func fill(_ client: SessionHandle) throws {
        var size = 100_000
        var number = 0
        while size > 10 {
            number += 1
            let line =
                #"{"op":"publish","id":1,"key":"fill.\#(number)","value":"\#(String(repeating: "x", count: size))"}"#
            if test.tell(line, from: client).contains(where: { $0.contains("storage") }) { size /= 2 }
            #expect(try endTurn())
        }
        // From here on there is only the room that is reserved.
        disk.capacity = disk.occupied
    }

    /// Ends the values whose time is over, until nothing more is sent.
    private func expire(_ observer: SessionHandle) throws -> Int {
        var told = 0
        for _ in 0..<100 {
            guard let next = test.hub.deadlines.next else { break }
            test.hub.expire(now: next + 60_000_000_000)
            let lines = test.lines(of: observer).filter { $0.contains(#""event":"delete""#) }
            told += lines.count
            #expect(try endTurn(), "told of what isn't kept")
        }
        return told
    }

    @Test("the broker's own keys take no room that isn't there, however often they are asked for")
    func ownKeys() throws {
        let client = test.client()
        try fill(client)
        for _ in 0..<2_000 { #expect(test.tell("get $broker.clients.1", from: client).count == 1) }
        let isWritten = try endTurn()
        #expect(isWritten)
    }

    @Test("a batch of small writes whose records are long is written or refused, however much room there is")
    func longRecords() throws {
        let client = test.client()
        try fill(client)
        test.tell(#"{"op":"hello","name":"\#(String(repeating: "\\\"", count: 64))"}"#, from: client)
        let writes = (0..<1_000).map {
            #"{"op":"publish","key":"k\#($0)","value":1,"ttl":1000000,"while":"connected"}"#
        }
        var answers: Set<Bool> = []
        for room in stride(from: 100_000, through: 900_000, by: 25_000) {
            disk.capacity = disk.occupied + room
            let batch = #"{"op":"batch","id":1,"writes":[\#(writes.joined(separator: ","))]}"#
            answers.insert(test.tell(batch, from: client).contains { $0.contains(#""ok""#) })
            let isWritten = try endTurn()
            #expect(isWritten, "\(room)")
        }
        #expect(answers == [true, false])
    }

    @Test("a disk that fails while room is made is the end: nothing is written behind half a record")
    func fails() throws {
        let value = String(repeating: "x", count: 300_000)
        let line = #"{"op":"publish","id":1,"key":"a","value":"\#(value)"}"#
        var refused: Set<String> = []
        for number in 0..<8 {
            let tests = try FullDiskTests()
            let (disk, client) = (tests.disk, tests.test.client())
            func isRefused() -> Bool {
                tests.test.tell(line, from: client).contains { $0.contains("storage") }
            }
            #expect(!isRefused())
            let operation = disk.operations + number
            disk.refusals[operation] = EIO
            disk.tearsRefusedWrites = true
            guard isRefused() else { continue }
            refused.insert(disk.kinds[operation])
            #expect(isRefused() && disk.operations == operation + 1)
            #expect(throws: JournalError.self) { try tests.endTurn() }
        }
        #expect(refused == ["write", "reserve"])
    }

    @Test("a value whose time is over isn't found, and nobody is told of its end before there is room")
    func asked() throws {
        let (client, observer) = (test.client(), test.client())
        test.tell("subscribe bound.**", from: observer)
        for number in 0..<3_000 {
            test.tell(#"{"op":"publish","key":"bound.\#(number)","value":1,"ttl":1}"#, from: client)
            _ = test.lines(of: observer)
            #expect(try endTurn())
        }
        try fill(client)
        // So many are told of as there is room for.
        _ = try expire(observer)
        var deleted = 0
        for number in 0..<3_000 {
            let told = test.tell("get bound.\(number)", from: client)
            #expect(told.first?.contains("not_found") == true, "\(told)")
            deleted += told.count - 1
        }
        let listed = test.ask("keys bound.*", from: client)
        #expect(deleted == 0 && listed.contains(#""keys":[]"#), "\(listed)")
        disk.capacity = 10_000_000
        #expect(try test.hub.durability.tick(.system))
        #expect(try expire(observer) > 100)
    }

    @Test(
        "values of a connection that has ended, or whose time is over, stay until there is room",
        arguments: [#""while":"connected""#, #""ttl":1"#]
    )
    func ends(bound: String) throws {
        let (writing, filling, observer) = (test.client(), test.client(), test.client())
        test.tell("subscribe bound.**", from: observer)
        for number in 0..<3_000 {
            test.tell(#"{"op":"publish","key":"bound.\#(number)","value":1,\#(bound)}"#, from: writing)
            _ = test.lines(of: observer)
            #expect(try endTurn())
        }
        try fill(filling)
        test.hub.leave(writing)
        var told = test.lines(of: observer).count
        #expect(try endTurn())
        told += try expire(observer)
        #expect(told > 100 && told < 3_000)
        disk.capacity = 10_000_000
        #expect(try test.hub.durability.tick(.system))
        told += try expire(observer)
        #expect(told == 3_000)
    }
}

/// A disk that is behind what clients write.
@Suite("While the disk is behind", .someAtATime)
struct ThrottleTests {
    private static let waiting = 400_000
    private let disk = SimulatedDisk()
    private let worker: LateWorker
    private let stage: SiegeStage

    init() throws {
        disk.capacity = 1 << 40
        worker = LateWorker(disk, holding: LateWorker.holdsSlowWork)
        stage = try SiegeStage(hasSlices: false)
        var options = JournalOptions()
        options.waitingBytes = Self.waiting
        try stage.keepJournal(on: disk, worker, options)
    }

    /// Sends lines of 10 kB, and takes turns without letting time pass. Returns how much was written.
    private func write(_ count: Int, from link: SiegeStage.Link, to key: String) throws -> Int {
        let before = disk.writtenBytes
        let value = String(repeating: "x", count: 10_000)
        for number in 1...count { stage.send("publish \(key) \"\(number) \(value)\"\n", link) }
        for _ in 0..<(2 * count) { try stage.turn() }
        return disk.writtenBytes - before
    }

    /// Does all work that was asked for, and lets so much time pass.
    private func catchUp(nanoseconds: UInt64) throws {
        stage.time.advance(nanoseconds: nanoseconds)
        try stage.turn()
        worker.finish()
        for _ in 0..<20 { try stage.turn() }
    }

    @Test(
        "who writes much isn't read, who writes little is served at once, and all go on when it has caught up"
    )
    func shares() throws {
        let (heavy, light) = (try stage.connect(), try stage.connect())
        let written = try write(100, from: heavy, to: "heavy")
        // What was read in the turn that brought it beyond the limit was written, too.
        let most = Self.waiting + 2 * EventLoop<KernelSockets>.readBytes
        #expect(written > Self.waiting && written < most, "\(written)")
        let reply = try stage.reply(
            to: #"{"op":"publish","id":1,"key":"light","value":1}"# + "\n",
            from: light
        )
        #expect(reply.hasPrefix(#"{"ok":"publish","id":1,"#))
        // Time alone brings a share: 1/200 of a second's.
        for _ in 0..<3 {
            stage.time.advance(nanoseconds: 5_000_000)
            for _ in 0..<4 { try stage.turn() }
        }
        #expect(disk.writtenBytes < most + 2 * EventLoop<KernelSockets>.readBytes)
        for _ in 0..<40 { try catchUp(nanoseconds: 1_000_000_000) }
        try stage.checkInvariants()
        #expect(disk.writtenBytes > 1_000_000)
        #expect(try stage.reply(to: "get heavy\n", from: heavy).contains(#""value":"100 "#))
    }

    @Test("a durable write that comes during a sync gets a sync of its own, although nobody writes after it")
    func durable() throws {
        let links = [try stage.connect(), try stage.connect()]
        for (number, link) in links.enumerated() {
            stage.send(#"{"op":"publish","id":\#(number),"key":"a","value":1,"durable":true}"# + "\n", link)
            for _ in 0..<4 { try stage.turn() }
        }
        var replies = ["", ""]
        for _ in 0..<4 {
            try catchUp(nanoseconds: 3_000_000)
            try stage.loop.takeJournalNews()
            for _ in 0..<4 { try stage.turn() }
            for place in 0...1 { replies[place] += String(decoding: links[place].take(), as: UTF8.self) }
        }
        for place in 0...1 { #expect(replies[place].contains(#"{"ok":"publish","id":\#(place)"#)) }
    }

    @Test("no other broker takes over while the journal's file isn't where it would look for it")
    func obstacle() throws {
        let link = try stage.connect()
        _ = try stage.reply(to: #"{"op":"publish","id":1,"key":"a","value":1}"# + "\n", from: link)
        let name = JournalFiles.segment(1)
        try disk.rename(name, to: "elsewhere")
        #expect(try !stage.makeWay())
        let warnings = try stage.reply(to: "get $broker.warnings\n", from: link)
        #expect(warnings.contains("it goes on as it was: the journal's file is gone"), "\(warnings)")
        try disk.rename("elsewhere", to: name)
        #expect(try stage.makeWay())
    }

    @Test("a client that has hung up meanwhile has all its lines executed")
    func hungUp() throws {
        let (heavy, other) = (try stage.connect(), try stage.connect())
        _ = try write(100, from: heavy, to: "heavy")
        stage.close(heavy)
        for _ in 0..<40 { try catchUp(nanoseconds: 1_000_000_000) }
        #expect(try stage.reply(to: "get heavy\n", from: other).contains(#""value":"100 "#))
    }

    @Test("a sync that takes long is told, by how much, and told again when it has taken twice as long")
    func told() throws {
        let link = try stage.connect()
        _ = try stage.reply(to: #"{"op":"publish","id":1,"key":"a","value":1}"# + "\n", from: link)
        var seen: [String] = []
        for second in 1...9 {
            stage.time.advance(nanoseconds: 1_000_000_000)
            for _ in 0..<3 { try stage.turn() }
            let warnings = try stage.reply(to: "get $broker.warnings\n", from: link)
            for match in warnings.matches(of: #/taken (\d+) s by now/#) where !seen.contains("\(match.1)") {
                seen.append("\(match.1)")
                #expect(Int(match.1) ?? 0 <= second)
            }
        }
        #expect(seen == ["2", "4", "8"])
        worker.finish()
        try stage.loop.takeJournalNews()
        let warnings = try stage.reply(to: "get $broker.warnings\n", from: link)
        #expect(warnings.contains(#""value":[],"#), "\(warnings)")
    }
}

/// A disk that fails while the broker says goodbye to its clients.
@Suite("A sync that fails while the broker is stopping", .someAtATime)
struct LastSyncTests {
    /// Its first sync stops the broker. In the turn after that, the sync fails.
    private final class FailingWorker: JournalWorker {
        private let orders: Orders
        private var isAsked = false
        private var looks = 0

        init(_ orders: Orders) { self.orders = orders }

        func add(_ work: JournalWork) {
            guard case .sync = work else { return }
            isAsked = true
            orders.end(.stopping)
        }

        func takeDone() -> [WorkDone] {
            if !isAsked { return [] }
            looks += 1
            orders.wakeup.signal()
            return looks > 1 ? [.syncFailed(SystemError(code: EIO, operation: "fsync"))] : []
        }

        func wait(for kind: JournalWork.Kind) {}
    }

    @Test("is told to the next broker, and nobody is told that a write is kept")
    func fails() throws {
        let folder = try TemporaryFolder(named: "pb")
        let path = folder.path + "/bus.sock"
        let listener = try UnixSocket.listen(path: path)
        let (orders, disk) = (try Orders(), SimulatedDisk())
        let worker = FailingWorker(orders)
        var loop = try EventLoop(
            poller: PollPoller(), listener: listener.raw, orders: orders, network: KernelSockets()
        )
        try loop.open(disk, worker: worker, JournalOptions(sync: .never), boot: "boot")
        let client = try LinePeer(path: path)
        try client.send(#"{"op":"publish","id":1,"key":"a","value":1,"durable":true}"# + "\n")
        #expect(throws: JournalError.self) { try loop.run() }
        #expect(!client.available().contains { $0.contains(#""ok":"publish""#) })
        #expect(disk.files["failed"] != nil)
    }
}
