// What a transcript is played on: a real broker behind its socket, or the broker's inside, whose clients read only
// when the transcript says so, and whose time passes only then.

import PlugboardPosix
import TestSupport

@testable import PlugboardBroker
@testable import PlugboardBrokerTests

/// A broker and its clients.
protocol Stage: AnyObject {
    func connect(_ client: String, as account: Account) throws
    func send(_ bytes: [UInt8], from client: String) throws
    /// The next line for a client; nil if the broker has closed.
    func line(for client: String) throws -> [UInt8]?
    /// A line that has come for a client; nil if none has.
    func leftOver(for client: String) throws -> [UInt8]?
    /// Ends a client's sending half.
    func finish(_ client: String) throws
    func vanish(_ client: String)
    /// Does what no client does.
    func happen(_ event: Transcript.Event) throws
}

/// A broker with a socket. Only where its files are kept does it go on after an end.
final class SocketStage: Stage {
    private let broker: RunningBroker
    private var peers: [String: LinePeer] = [:]

    init(_ transcript: Transcript, _ poller: PollerKind) throws {
        broker = try RunningBroker(poller: poller, policy: transcript.policy, keeps: transcript.restarts)
    }

    func connect(_ client: String, as account: Account) throws {
        peers[client] = try LinePeer(path: broker.path)
    }

    func send(_ bytes: [UInt8], from client: String) throws { try peers[client]?.send(bytes) }

    func line(for client: String) throws -> [UInt8]? { try peers[client]?.line() }

    func leftOver(for client: String) throws -> [UInt8]? {
        try send(Array((#"{"op":"sync","id":"nothing more"}"# + "\n").utf8), from: client)
        let line = try line(for: client)
        return line?.starts(with: #"{"ok":"sync","id":"nothing more","#.utf8) == true ? nil : line ?? []
    }

    func finish(_ client: String) { peers[client]?.finish() }

    func vanish(_ client: String) { peers[client] = nil }

    func happen(_ event: Transcript.Event) throws {
        switch event {
        case .time(let milliseconds): Pause.sleep(seconds: Double(milliseconds) / 1_000)
        case .restart:
            peers = [:]
            try broker.restart()
        case .policy, .fresh: throw NeverHappened(description: "a policy that changes behind a socket")
        }
    }
}

/// A hub. Its clients read at once, except those that have stopped. With slices, a request looks at one key a turn.
final class HubStage: Stage {
    private let hub: TestHub
    private var sessions: [String: SessionHandle] = [:]
    private var unread: [String: [String]] = [:]
    private var stopped: Set<String> = []
    private var milliseconds: UInt64 = 0

    init(_ transcript: Transcript, hasSlices: Bool = false) throws {
        hub = TestHub(visits: hasSlices ? 1 : nil)
        if let policy = transcript.policy { try hub.follow(policy) }
    }

    func connect(_ client: String, as account: Account) {
        if account.isSupervisor { hub.obey(supervisor: account.process) }
        sessions[client] = hub.client(
            user: account.user ?? TestHub.owner, groups: account.groups, process: account.process
        )
        unread[client] = [hub.greeting]
        readAll()
    }

    func send(_ bytes: [UInt8], from client: String) throws {
        hub.send(String(decoding: bytes, as: UTF8.self), from: try session(client))
        readAll()
    }

    func line(for client: String) throws -> [UInt8]? {
        if let line = try leftOver(for: client) {
            unread[client]?.removeFirst()
            return line
        }
        if hub.isOpen(try session(client)) { throw NeverHappened(description: "a further line") }
        return nil
    }

    func leftOver(for client: String) throws -> [UInt8]? {
        stopped.remove(client)
        readAll()
        return unread[client]?.first.map { Array($0.utf8) }
    }

    func finish(_ client: String) throws {
        hub.endInput(try session(client))
        readAll()
    }

    func vanish(_ client: String) {
        if let session = sessions[client] { hub.leave(session) }
        readAll()
    }

    func happen(_ event: Transcript.Event) throws {
        switch event {
        case .time(let passed):
            milliseconds += passed
            hub.expireAll(after: milliseconds)
        case .policy(let policy): try hub.follow(policy)
        case .restart, .fresh: throw NeverHappened(description: "a restart of a hub")
        }
        readAll()
    }

    func stopReading(_ client: String) throws {
        stopped.insert(client)
        hub.stopReading(try session(client))
    }

    private func session(_ client: String) throws -> SessionHandle {
        guard let session = sessions[client] else { throw NeverHappened(description: "\(client) came") }
        return session
    }

    private func readAll() {
        for (client, session) in sessions where !stopped.contains(client) {
            unread[client, default: []] += hub.read(session)
        }
    }
}
