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
        #expect(hub.leases <= 4)
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
        #expect(hub.boundCount == 0 && hub.leases == 0)
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
}
