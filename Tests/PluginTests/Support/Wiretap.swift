// A socket between one plugin and the broker, to see what the plugin really asks for. A
// thread passes bytes on unchanged, and ends with the tap. Invariant: a request is recorded
// before the broker gets it, so whoever sees its effect finds it here.

import PlugboardClient
import PlugboardPosix
import Synchronization

/// Passes on one connection after the other.
final class Wiretap: Sendable {
    /// The path that the plugin connects to.
    let path: String
    private let wire: Wire

    init(path: String, broker: String) throws {
        self.path = path
        let listener = try UnixSocket.listen(path: path).release()
        let wire = try Wire(broker: broker)
        self.wire = wire
        try Background.start {
            do { try wire.serve(Descriptor(adopting: listener)) } catch { print("wiretap: \(error)") }
        }
    }

    deinit { wire.ending.signal() }

    /// How many bytes the plugin has sent so far.
    var heardBytes: Int { wire.heard.withLock { $0.count } }

    /// The plugin's requests so far, in order.
    func requests() throws -> [JSON] {
        let text = String(decoding: wire.heard.withLock { $0 }, as: UTF8.self)
        // After the last line feed there is an incomplete line, or nothing.
        return try text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map { try JSON(String($0)) }
    }

    /// The patterns that it subscribed to.
    func subscribed() throws -> [String] {
        try requests().filter { $0["op"]?.string == "subscribe" }
            .flatMap { $0["keys"]?.elements ?? [] }.compactMap(\.string)
    }

    /// The keys that it read, or wrote depending on the present value.
    func read() throws -> [String] {
        try requests().flatMap { $0["writes"]?.elements ?? [$0] }
            .filter {
                ["get", "keys", "who", "why", "patch", "delete"].contains($0["op"]?.string) || $0["if"] != nil
            }
            .compactMap { $0["key"]?.string }
    }

    /// The patterns that it serves.
    func served() throws -> [String] {
        try requests().filter { $0["op"]?.string == "serve" }.compactMap { $0["key"]?.string }
    }

    /// The keys that it wrote, each as often as it did.
    func written() throws -> [String] {
        try requests().flatMap { $0["writes"]?.elements ?? [$0] }
            .filter { ["publish", "emit", "patch", "delete"].contains($0["op"]?.string) }
            .compactMap { $0["key"]?.string }
    }
}

/// The part that runs on the thread.
private final class Wire: Sendable {
    private static let (endToken, clientToken, brokerToken): (UInt64, UInt64, UInt64) = (0, 1, 2)

    let heard = Mutex<[UInt8]>([])
    let ending: Wakeup
    private let broker: String

    init(broker: String) throws {
        self.broker = broker
        ending = try Wakeup()
    }

    func serve(_ listener: consuming Descriptor) throws {
        let poller = PollPoller()
        try poller.add(ending.raw, token: Self.endToken, interest: .read)
        try poller.add(listener.raw, token: Self.clientToken, interest: .read)
        var isEnding = false
        while !isEnding {
            try poller.wait(milliseconds: -1) { isEnding = isEnding || $0.token == Self.endToken }
            if case .connection(let client) = try UnixSocket.accept(listener.raw) { try pass(client) }
        }
    }

    /// Runs until either side closes, or the tap does.
    private func pass(_ client: consuming Descriptor) throws {
        let broker = try UnixSocket.connect(path: broker)
        // Only what is ready is read, and what is read is passed on completely.
        UnixSocket.setBlocking(client.raw, true)
        UnixSocket.setBlocking(broker.raw, true)
        let poller = PollPoller()
        try poller.add(ending.raw, token: Self.endToken, interest: .read)
        try poller.add(client.raw, token: Self.clientToken, interest: .read)
        try poller.add(broker.raw, token: Self.brokerToken, interest: .read)
        while true {
            var ready: Set<UInt64> = []
            try poller.wait(milliseconds: -1) { ready.insert($0.token) }
            if ready.contains(Self.endToken) { return }
            if ready.contains(Self.clientToken), !move(from: client, to: broker, isHeard: true) { return }
            if ready.contains(Self.brokerToken), !move(from: broker, to: client, isHeard: false) { return }
        }
    }

    /// Returns false if one of the two is gone.
    private func move(from: borrowing Descriptor, to: borrowing Descriptor, isHeard: Bool) -> Bool {
        let (transfer, bytes) = PipeCalls.read(from.raw, upTo: 65_536)
        guard case .bytes = transfer else { return false }
        if isHeard { heard.withLock { $0 += bytes } }
        var rest = bytes[...]
        while !rest.isEmpty {
            guard case .bytes(let sent) = to.write(rest.span) else { return false }
            rest = rest.dropFirst(sent)
        }
        return true
    }
}
