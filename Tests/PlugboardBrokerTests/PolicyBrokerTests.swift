// A policy in a real broker with a real socket.

import Dispatch
import PlugboardPosix
import Synchronization
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("a broker with a policy", .someAtATime)
struct PolicyBrokerTests {
    /// What a broker reported. Tests wait for it.
    private final class Reports: Sendable {
        private let lines = Mutex<[String]>([])
        private let arrived = DispatchSemaphore(value: 0)

        func add(_ line: String) {
            lines.withLock { $0.append(line) }
            arrived.signal()
        }

        func next() throws -> String {
            guard arrived.wait(timeout: .now() + 10) == .success else {
                throw NeverHappened(description: "nothing was reported for ten seconds")
            }
            return lines.withLock { $0.removeFirst() }
        }
    }

    private func mode(_ path: String) -> mode_t {
        SystemCalls.status(path).map { $0.st_mode & 0o777 } ?? 0
    }

    private let all = #"{"rules":[{"allow":{"everything":["**"]}}]}"#
    private let little = #"{"rules":[{"allow":{"everything":["open"],"publish":["**"]}}]}"#

    @Test(
        "nobody is told anything of a right that was taken once that is reported",
        arguments: PollerKind.allCases
    )
    func revoked(poller: PollerKind) throws {
        let reports = Reports()
        let broker = try TestBroker(poller: poller, policy: Policy.read(all), report: reports.add)
        let (observer, writer) = (try broker.client(), try broker.client())
        _ = try observer.ask(#"{"op":"subscribe","key":"**","initial":false}"#)
        for round in 0..<20 {
            for index in 0..<50 { try writer.send(#"{"op":"publish","key":"closed","value":\#(index)}"#) }
            try broker.follow(Policy.read(little))
            #expect(try reports.next() == "the policy was loaded anew: 1 rule, for this user and root")
            #expect(try writer.ask(#"publish closed "gone""#).contains(#""ok""#))
            #expect(try writer.ask(#"publish open "end \#(round)""#).contains(#""ok""#))
            var line = ""
            repeat {
                line = try observer.line()
                #expect(!line.contains("gone"))
            } while !line.contains("end \(round)")
            try broker.follow(Policy.read(all))
            _ = try reports.next()
        }
    }

    @Test("who has closed half, and may not serve any more what it served, is done with")
    func nothingToServe() throws {
        let broker = try TestBroker(policy: Policy.read(all))
        let server = try broker.client()
        _ = try server.ask("serve a")
        server.halfClose()
        try broker.follow(Policy.read(little))
        #expect(try server.lineOrEnd() == nil)
    }

    @Test("who has not read what it may not see any more is told bye, and what it has not got is dropped")
    func unread() throws {
        let reports = Reports()
        let broker = try TestBroker(policy: Policy.read(all), report: reports.add)
        let (observer, writer) = (try broker.client(), try broker.client())
        _ = try observer.ask(#"{"op":"subscribe","key":"**","initial":false,"delivery":"all"}"#)
        let value = String(repeating: "v", count: 100_000)
        for index in 0..<100 {
            _ = try writer.ask(#"{"op":"publish","id":1,"key":"closed","value":"\#(index)\#(value)"}"#)
        }
        try broker.follow(Policy.read(little))
        _ = try reports.next()
        var lines: [String] = []
        while let line = try observer.lineOrEnd() { lines.append(line) }
        #expect(lines.count < 100)
        #expect(lines.last?.hasPrefix(#"{"event":"bye","reason":"revoked""#) == true)
    }

    @Test("the socket is open to others while a rule is about them, and only then")
    func modes() throws {
        let plain = try TestBroker()
        #expect(mode(plain.path) == 0o600)
        let reports = Reports()
        let broker = try TestBroker(policy: Policy.read(all), report: reports.add)
        #expect(mode(broker.path) == 0o600)
        try broker.follow(Policy.read(#"{"rules":[{"user":"*","allow":{}}]}"#))
        #expect(mode(broker.path) == 0o666)
        #expect(try reports.next() == "the policy was loaded anew: 1 rule, for other users as well")
        try broker.follow(Policy.read(all))
        #expect(mode(broker.path) == 0o600)
    }

    @Test("the kernel tells the groups of who connects")
    func groups() throws {
        let pair = try UnixSocket.pair()
        let told = Set(PeerIdentity.groups(of: pair.first.raw))
        #expect(told == SystemCalls.ownGroups())
    }

    @Test("users and groups have the numbers that the system gives them")
    func accounts() {
        #expect(Accounts.user(named: "root") == 0)
        #expect(Accounts.group(named: "nobody-is-in-this") == nil && Accounts.user(named: "") == nil)
        #expect(Accounts.ownUser == geteuid())
    }
}
