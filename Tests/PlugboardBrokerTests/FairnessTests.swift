import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("taking turns", .someAtATime)
struct FairnessTests {
    /// Three clients have sent all of this before the broker reads: many subscriptions of a key, a burst
    /// of writes to it, and a question.
    private func burst(_ poller: PollerKind) throws -> (TestBroker, [TestClient], writes: Int) {
        let broker = try TestBroker(poller: poller, isStarted: false)
        let clients = try (0..<3).map { _ in try broker.client(isGreeted: false) }
        let write = #"{"op":"publish","key":"k","value":1}"# + "\n"
        let writes = EventLoop<KernelSockets>.readBytes / write.utf8.count
        try clients[0].send(bytes: Array(String(repeating: "subscribe k\n", count: 1500).utf8))
        try clients[1].send(bytes: Array(String(repeating: write, count: writes).utf8))
        try clients[2].send("sync")
        try clients[2].send(#"{"op":"publish","id":1,"key":"other","value":1}"#)
        return (broker, clients, writes)
    }

    @Test(
        "a burst of one client to very many observers doesn't keep another waiting to its end",
        arguments: PollerKind.allCases
    )
    func manyObservers(poller: PollerKind) throws {
        let (broker, clients, writes) = try burst(poller)
        try broker.start()
        _ = try clients[2].line()
        _ = try clients[2].line()
        let revision = try #require(number("revision", in: try clients[2].line()))
        #expect(revision > 1)
        #expect(revision < writes)
    }

    @Test("lines that waited for others are executed, in order, also after the client's last word")
    func everyLine() throws {
        let (broker, clients, writes) = try burst(.standard)
        try clients[1].send(bytes: Array("publish last 1\n".utf8))
        clients[1].halfClose()
        try broker.start()
        _ = try clients[1].line()
        let last = try clients[1].line()
        #expect(number("revision", in: last) == writes + 2)
        #expect(try clients[1].lineOrEnd() == nil)
    }
}
