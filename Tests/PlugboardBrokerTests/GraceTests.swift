// Names with a grace, in a hub without sockets whose time passes only when the test says so.

import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Graces", .computing)
struct GraceTests {
    private let hub = TestHub()
    private let observer: Int

    init() {
        observer = hub.client()
        hub.send(#"{"op":"subscribe","key":"**","initial":false}"#, from: observer)
        _ = hub.read(observer)
    }

    /// A client with a name and a grace.
    private func program(_ name: String, _ grace: Int = 1_000, user: UInt32 = TestHub.owner) -> Int {
        let client = hub.client(user: user)
        hub.send(#"{"op":"hello","name":"\#(name)","grace":\#(grace)}"#, from: client)
        return client
    }

    private func bind(_ key: String, to client: Int) {
        hub.send(#"{"op":"publish","key":"\#(key)","value":1,"while":"connected"}"#, from: client)
        _ = hub.read(observer)
    }

    private func isResumed(_ client: Int) -> Bool {
        hub.read(client).last?.contains(#""resumed":true"#) == true
    }

    /// What the observer was told, in few words.
    private var news: [String] {
        hub.read(observer).map { line in
            let words = line.split(separator: #"""#)
            return "\(words[3]) \(words.dropFirst(9).first ?? "")"
        }
    }

    @Test("a program that comes back again and again leaves only what is still bound")
    func restless() {
        bind("first", to: program("restless"))
        for _ in 0..<100 {
            let client = program("restless")
            bind("a", to: client)
            hub.leave(client)
        }
        #expect(hub.legacies <= 4)
        hub.expireAll(after: 10_000)
        #expect(Set(news) == ["delete a"])
    }

    @Test("however often a program has come back and left something bound, it is no more work than at first")
    func often() throws {
        var (newest, costs) = (program("restless"), [UInt64]())
        for number in 0..<3_000 {
            let next = program("restless")
            bind("k.\(number)", to: next)
            let start = try ProcessUsage.threadNanoseconds()
            hub.leave(newest)
            costs.append(try ProcessUsage.threadNanoseconds() - start)
            newest = next
        }
        // The least of many, since others use the machine. The very first one has left nothing.
        let (first, last) = (costs[1..<200].min() ?? 0, costs.suffix(200).min() ?? 0)
        #expect(last < 4 * first, "\(first) ns at first, \(last) ns at last")
        #expect(hub.boundCount == 3_000)
        hub.leave(newest)
        for millisecond in 0..<100 { hub.expireAll(after: 1_000 + UInt64(millisecond)) }
        #expect(hub.boundCount == 0 && hub.legacies == 0)
    }

    @Test("until its last millisecond a program may come back, and not one later")
    func deadline() {
        let first = program("till")
        bind("a", to: first)
        hub.leave(first)
        hub.expireAll(after: 999)
        #expect(news.isEmpty)
        let second = program("till", 5)
        #expect(isResumed(second))
        hub.leave(second)
        hub.expireAll(after: 1_003)
        #expect(news.isEmpty)
        hub.expireAll(after: 1_004)
        #expect(news == ["delete a"])
        #expect(!isResumed(program("till")))
    }

    @Test("only the same user with the same name comes back")
    func strangers() throws {
        try hub.follow(
            #"{"rules":[{"allow":{"everything":["**"]}},{"user":7,"allow":{"everything":["**"]}}]}"#)
        let first = program("till")
        bind("a", to: first)
        hub.leave(first)
        #expect(!isResumed(program("till", user: 7)))
        #expect(!isResumed(program("Till")))
        let plain = hub.client()
        hub.send("hello till", from: plain)
        #expect(!isResumed(plain))
        // Who gives the grace back waits for nobody.
        let second = program("till")
        #expect(isResumed(second))
        hub.send("hello till", from: second)
        hub.leave(second)
        #expect(news == ["delete a"])
    }

    @Test("whoever comes back has the keys of all who were there before, and the newest will")
    func several() {
        let (first, second) = (program("till"), program("till"))
        bind("a", to: first)
        hub.send(#"will emit w "first""#, from: first)
        bind("b", to: second)
        hub.send(#"will emit w "second""#, from: second)
        // The second one is there, and has what the first one leaves. Its own will counts.
        hub.leave(first)
        hub.leave(second)
        let third = program("till")
        bind("c", to: third)
        hub.leave(third)
        #expect(news.isEmpty)
        hub.expireAll(after: 1_001)
        let told = hub.read(observer)
        #expect(
            told.first?.contains(##""key":"w","revision":3,"value":"second","by":"till","reason":"will"}"##)
                == true)
        #expect(told.count == 4)
        #expect(hub.boundCount == 0)
    }

    @Test("for so many programs is waited and for no more, and then one that comes back makes room")
    func limit() {
        for number in 0..<Limits.absencesMax {
            let client = program("p\(number)")
            bind("k.\(number)", to: client)
            hub.leave(client)
        }
        let late = program("late")
        bind("late", to: late)
        hub.leave(late)
        #expect(news == ["delete late"])
        // A name that is waited for already takes no more room.
        let again = program("p7")
        #expect(isResumed(again))
        hub.leave(again)
        let next = program("next")
        bind("next", to: next)
        hub.leave(next)
        #expect(news == ["delete next"])
        hub.expireAll(after: 1_001)
        #expect(hub.read(observer).count == Limits.absencesMax)
    }

    @Test("a will that waits is kept for its user, and is written in its name when nobody comes")
    func charged() throws {
        let quotas = #","quotas":[{"user":7,"kept":100}]}"#
        try hub.follow(
            #"{"rules":[{"allow":{"everything":["**"]}},{"user":7,"allow":{"everything":["**"]}}]"# + quotas)
        let guest = program("till", user: 7)
        hub.send(#"will publish w "\#(String(repeating: "x", count: 90))""#, from: guest)
        hub.leave(guest)
        let other = hub.client(user: 7)
        hub.send("publish o \"1234567890\"", from: other)
        #expect(hub.read(other).last?.contains(#""error":"limit""#) == true)
        hub.expireAll(after: 1_001)
        let told = hub.read(observer)
        #expect(told.count == 1 && told[0].contains(#""by":"till","reason":"will""#))
        hub.send("delete w\npublish o \"1234567890\"", from: other)
        #expect(hub.read(other).last == #"{"ok":"publish","revision":3}"#)
    }

    @Test("the will of a user who may not be here any more isn't written, but its keys go")
    func banned() throws {
        let mine = #"{"allow":{"everything":["**"]}}"#
        try hub.follow(#"{"rules":[\#(mine),{"user":7,"allow":{"everything":["**"]}}]}"#)
        let guest = program("till", user: 7)
        bind("a", to: guest)
        hub.send("will emit w 1", from: guest)
        hub.leave(guest)
        try hub.follow(#"{"rules":[\#(mine)]}"#)
        hub.expireAll(after: 1_001)
        #expect(news == ["delete a"])
    }
}
