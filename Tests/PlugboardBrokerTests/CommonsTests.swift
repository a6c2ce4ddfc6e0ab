// What clients without a quota may take up together, at the limit and one past it: by themselves, and in a
// broker, where who exceeds it is closed and the others go on.

import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("what clients without a quota take up together")
struct CommonsTests {
    private let bare = BareHub()
    private let clients: [SessionHandle]

    init() { clients = [bare.client(), bare.client(), bare.client()] }

    /// Whether a client for which so many bytes wait is closed for that. It is open again afterwards.
    private func isPast(_ kind: WaitingBytes.Kind, _ bytes: Int, _ client: Int) -> Bool {
        bare.hub.recount(kind, bytes, of: clients[client])
        defer { bare.hub.sessions[clients[client]].closeReason = nil }
        return bare.hub.sessions[clients[client]].closeReason == .quota
    }

    @Test("bytes that are owed: as many as the limit, and one more")
    func owed() {
        let most = Limits.commonOwedBytesMax
        // Who reads is not the one who exceeds it.
        let past = [(0, most - 10), (1, 10), (2, 1), (1, 9), (2, 1)].map { isPast(.owed, $1, $0) }
        #expect(past == [false, false, true, false, false])
        bare.forget(clients[0])
        #expect(!isPast(.owed, most - 9, 2) && isPast(.owed, most - 8, 2))
    }

    @Test("bytes of unfinished requests: as many as the limit, and one more")
    func partial() {
        let most = Limits.commonPartialBytesMax
        #expect(!isPast(.partial, most, 0) && !isPast(.partial, 0, 1))
        #expect(isPast(.partial, 1, 1) && !isPast(.owed, 1, 2))
        bare.forget(clients[0])
        #expect(!isPast(.partial, most - 1, 2))
    }

    @Test("what waits is counted for the user while it has a limit, and else for all together")
    func moves() throws {
        func follow(_ quotas: String) throws {
            let text = #"{"rules":[{"allow":{"everything":["**"]}}],"quotas":[\#(quotas)]}"#
            _ = bare.hub.replacePolicy(try Policy.read(text))
        }
        bare.hub.access = Access(owner: 1_000)
        let quota = #"{"user":1000,"owed":100,"partial":100}"#
        try follow(quota)
        let client = bare.client(PeerIdentity(process: 1, user: 1_000))
        bare.hub.recount(.owed, 20, of: client)
        bare.hub.recount(.partial, 3, of: client)
        for (quotas, waiting) in [(quota, [0, 0, 20, 3]), ("", [20, 3, 0, 0]), (quota, [0, 0, 20, 3])] {
            try follow(quotas)
            let (all, own) = (bare.hub.access.common.used, bare.hub.access.account(of: 1_000).used)
            #expect([all.owed, all.partial, own.owed, own.partial] == waiting)
        }
    }

    @Test("who sends a byte too much of a request is told why and closed, and the others go on")
    func unfinished() throws {
        let stage = try SiegeStage(hasSlices: true, .common(partial: 1_000))
        let (first, second, third) = (try stage.connect(), try stage.connect(), try stage.connect())
        let half = String(repeating: "x", count: 500)
        for link in [first, second] { stage.send(half, link) }
        #expect(try stage.news(of: first) + stage.news(of: second) == "")
        stage.send("x", third)
        let bye = try stage.news(of: third)
        #expect(bye.hasPrefix(#"{"event":"bye","reason":"limit""#))
        #expect(bye.contains("of all clients without a quota together"))
        #expect(try stage.reply(to: "\n", from: first).contains("error"))
        // There is room again.
        let fourth = try stage.connect()
        stage.send(half, fourth)
        #expect(try stage.news(of: fourth) == "")
        #expect(try stage.reply(to: "\n", from: second).contains("error"))
    }

    @Test(
        "who is owed too much is closed, the others go on, and who reads makes room",
        arguments: [(false, 1), (true, 0)])
    func unread(shares: Bool, dismissed: Int) throws {
        let value = 10_000
        // Without room for one that they share, each keeps a copy of its own.
        let stage = try SiegeStage(hasSlices: true, .common(owed: 3 * value), sharesCopies: shares)
        let observers = try (0..<3).map { _ in try stage.connect() }
        for observer in observers { try stage.ask("subscribe k", observer) }
        for observer in observers { observer.reads = false }
        let writer = try stage.connect()
        let write = "publish k \"" + String(repeating: "x", count: value) + "\"\n"
        _ = try stage.reply(to: write, from: writer)
        _ = try stage.news(of: writer)
        for observer in observers { observer.reads = true }
        let told = try observers.map { try stage.news(of: $0) }
        #expect(told.count { $0.contains(#""reason":"limit""#) } == dismissed)
        #expect(told.count { $0.contains(#""event":"update""#) } == 3 - dismissed)
        observers[0].reads = false
        _ = try stage.reply(to: write, from: writer)
        observers[0].reads = true
        #expect(try stage.news(of: observers[0]).contains(#""event":"update""#))
    }
}
