// A dashboard's server in the test's own process, on a thread of its own, with a broker to show.

import PlugboardBroker
import PlugboardPosix
import Synchronization
import TestSupport

@testable import DashboardPlugin

/// A server that runs until it is released.
final class PageServer: Sendable {
    let token = WebToken()
    let port: UInt16
    let socket: String
    private let home: TemporaryFolder
    private let configuration: WebConfiguration
    private let broker: Mutex<ServedBroker?>
    /// Whether its thread has ended.
    let hasEnded = Shared(false)

    init(writes: Bool = false, patience: WebPatience = .endless) throws {
        home = try TemporaryFolder()
        socket = home.socket
        broker = Mutex(try ServedBroker(Configuration(socketPath: home.socket)))
        let listener = try LoopbackSocket.listen(port: 0)
        port = LoopbackSocket.port(of: listener.raw) ?? 0
        configuration = try WebConfiguration(
            listener: listener,
            gate: PageGate(place: .port(port), token: token),
            broker: home.socket,
            users: .own,
            name: "page",
            writes: writes,
            patience: patience
        )
        let (configuration, hasEnded) = (configuration, hasEnded)
        try Background.start {
            do { try WebServer(configuration).run() } catch { print("a test's page: \(error)") }
            hasEnded.set(true)
        }
    }

    deinit { configuration.wakeup.signal() }

    var host: (String, String) { ("Host", "127.0.0.1:\(port)") }
    var bearer: (String, String) { ("Authorization", "Bearer \(token.text)") }
    var origin: (String, String) { ("Origin", "http://127.0.0.1:\(port)") }

    func client() throws -> WebClient { try WebClient(port: port) }

    func stopBroker() { broker.withLock { $0.take() }?.stopAndWait() }

    func startBroker() throws {
        let next = try ServedBroker(Configuration(socketPath: socket))
        broker.withLock { $0 = next }
    }

    /// The answer to a file's request on a connection of its own: whether the server is well.
    func status() throws -> Int { try client().ask("GET", "/", [host]).status }
}

extension WebPatience {
    /// For tests of other things: however slow the machine is, no limit of time ends a connection.
    static let endless = WebPatience(
        head: HangGuard.seconds,
        body: HangGuard.seconds,
        idle: HangGuard.seconds,
        answer: HangGuard.seconds,
        write: HangGuard.seconds
    )
}

/// A page's stream, and the connection for its requests.
final class PageStream {
    let events: WebClient
    let number: String
    private let server: PageServer
    private let requests: WebClient

    init(_ server: PageServer, kernelBytes: Int32? = nil) throws {
        self.server = server
        events = try WebClient(port: server.port, kernelBytes: kernelBytes)
        requests = try server.client()
        let head = try events.ask("GET", "/events", [server.host, server.bearer])
        let first = try events.block()
        let form = /event: stream\ndata: {"stream":([0-9]+),"write":(true|false),"now":[0-9]+}/
        let match = first.firstMatch(of: form)
        guard head.status == 200, let match else { throw NeverHappened(description: "a stream: \(first)") }
        number = String(match.1)
    }

    /// The next event; the heartbeat is none.
    func event() throws -> String {
        while true {
            let block = try events.block()
            if block != ":" { return block }
        }
    }

    func ask(_ line: String) throws -> WebReply {
        try requests.ask("POST", "/request", headers, line)
    }

    var headers: [(String, String)] {
        [server.host, server.bearer, server.origin, ("Plugboard-Stream", number)]
    }
}
