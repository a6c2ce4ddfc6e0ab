// Serves the page: one thread polls the listener, the browsers' connections and the streams' connections
// to the broker. Nothing on it waits for anybody, and nothing a peer sends can end it. It owns all of its
// descriptors.

import PlugboardMemory
import PlugboardPosix
import Synchronization

/// The server's loop.
final class WebServer {
    private static let listenerToken: UInt64 = 0
    private static let wakeupToken: UInt64 = 1

    let configuration: WebConfiguration
    let rules: RequestRules
    var connections: [UInt64: WebConnection] = [:]
    /// The streams, by the number of their connections.
    var streams: [UInt64: EventStream] = [:]
    let poller: any Poller
    private(set) var now = MonotonicClock.nanoseconds()
    private var nextNumber: UInt64 = 1

    init(_ configuration: WebConfiguration) throws {
        self.configuration = configuration
        rules = RequestRules(writes: configuration.writes)
        poller = try PollerKind.standard.make()
        try poller.add(configuration.listener.raw, token: Self.listenerToken, interest: .read)
        try poller.add(configuration.wakeup.raw, token: Self.wakeupToken, interest: .read)
    }

    /// Runs until the configuration's owner wakes it.
    func run() throws {
        while true {
            var ready: [Readiness] = []
            try poller.wait(milliseconds: wait()) { ready.append($0) }
            now = MonotonicClock.nanoseconds()
            if ready.contains(where: { $0.token == Self.wakeupToken }) { return }
            for readiness in ready { try handle(readiness) }
            try goOn()
        }
    }

    var patience: WebPatience { configuration.patience }

    /// A moment after now.
    func moment(after seconds: Double) -> UInt64 { now + UInt64(seconds * 1e9) }

    private func handle(_ readiness: Readiness) throws {
        if readiness.token == Self.listenerToken { return try accept() }
        let number = readiness.token >> 1
        guard let connection = connections[number] else { return }
        if readiness.token & 1 == 0 {
            if readiness.isGone { return close(connection) }
            if readiness.canRead, connection.wantsToRead, !connection.receive() { return close(connection) }
            advance(connection)
        } else if let stream = streams[number] {
            if readiness.canRead { receive(stream) } else if readiness.isGone { lose(stream) }
        }
    }

    private func accept() throws {
        while case .connection(let socket) = try UnixSocket.accept(configuration.listener.raw) {
            UnixSocket.setBlocking(socket.raw, false)
            // What the kernel keeps for a page that doesn't read is old when it is read.
            UnixSocket.setBuffers(socket.raw, bytes: WebLimits.kernelBytes)
            guard connections.count < WebLimits.connectionsMax || closeOldest() else { continue }
            nextNumber += 1
            let connection = WebConnection(socket, number: nextNumber)
            connection.deadline = moment(after: patience.head)
            try poller.add(connection.fd, token: connection.number << 1, interest: .read)
            connections[connection.number] = connection
        }
    }

    /// Makes room by closing the connection that has waited longest for its request. Returns false if there
    /// is none such.
    private func closeOldest() -> Bool {
        let waiting = connections.values.filter { $0.phase == .head && $0.waitingBytes == 0 }
        // Those of one moment came in the order of their numbers.
        guard let oldest = waiting.min(by: { ($0.deadline, $0.number) < ($1.deadline, $1.number) }) else {
            return false
        }
        close(oldest)
        return true
    }

    func close(_ connection: WebConnection) {
        if let stream = streams.removeValue(forKey: connection.number) {
            if let fd = stream.polledFD { poller.remove(fd) }
            failRequests(of: stream, .badGateway)
        }
        poller.remove(connection.fd)
        connections[connection.number] = nil
    }

    /// Sends, reads on where there is room again, and ends what has taken too long.
    private func goOn() throws {
        for stream in Array(streams.values) { try tend(stream) }
        for connection in Array(connections.values) where connections[connection.number] != nil {
            tend(connection)
        }
    }

    private func tend(_ connection: WebConnection) {
        // Before sending, because what it adds is to be sent now.
        guard connection.deadline > now || expire(connection), let hasSent = connection.flush() else {
            return close(connection)
        }
        if hasSent, connection.phase != .head { prolong(connection) }
        if connection.phase == .ending, connection.waitingBytes == 0 { return close(connection) }
        var interest: Interest = connection.wantsToRead ? .read : []
        if connection.waitingBytes > 0 { interest.insert(.write) }
        guard interest != connection.interest else { return }
        connection.interest = interest
        do {
            try poller.change(connection.fd, token: connection.number << 1, interest: interest)
        } catch {
            close(connection)
        }
    }

    private func prolong(_ connection: WebConnection) {
        switch connection.phase {
        case .stream: connection.deadline = moment(after: patience.heartbeat)
        case .ending: connection.deadline = moment(after: patience.write)
        case .head, .body, .asked: break
        }
    }

    /// What has taken too long is given up. Returns false if that is the whole connection.
    private func expire(_ connection: WebConnection) -> Bool {
        switch connection.phase {
        case .stream:
            if connection.waitingBytes == 0 { connection.appendHeartbeat() }
            connection.deadline = moment(after: patience.heartbeat)
        case .asked(let id, let stream):
            streams[stream]?.requests[id] = nil
            answer(connection, .empty(.tooLate))
        case .head, .body, .ending: return false
        }
        return true
    }

    /// The milliseconds until something is due.
    private func wait() -> Int32 {
        let moments = connections.values.map(\.deadline) + streams.values.compactMap(\.link.retryNanoseconds)
        guard let next = moments.min() else { return -1 }
        let time = MonotonicClock.nanoseconds()
        return next > time ? Int32(clamping: (next - time) / 1_000_000 + 1) : 0
    }
}

/// What a server needs to know. From any thread.
final class WebConfiguration: Sendable {
    let listener: Descriptor
    let gate: PageGate
    let broker: String
    let users: TrustedUsers
    let name: String
    let writes: Bool
    let patience: WebPatience
    /// Ends the server.
    let wakeup: Wakeup

    init(
        listener: consuming Descriptor,
        gate: PageGate,
        broker: String,
        users: TrustedUsers,
        name: String,
        writes: Bool,
        patience: WebPatience = WebPatience()
    ) throws {
        self.listener = listener
        self.gate = gate
        self.broker = broker
        self.users = users
        self.name = name
        self.writes = writes
        self.patience = patience
        wakeup = try Wakeup()
    }
}
