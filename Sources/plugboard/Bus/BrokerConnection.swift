// A command's connection to the broker: one socket, read and written on one thread. Every wait has a
// deadline. Values stay bytes, so commands don't use the typed client library.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// A connection to a broker.
final class BrokerConnection {
    /// How long to wait without `--timeout`.
    static let timeoutSeconds = TimeoutVariable.seconds(SocketPath.variable(TimeoutVariable.name))

    /// The path of the broker's socket.
    let path: String
    /// The name that this client takes on each connection, if any.
    var name: String?
    /// The broker's first line; nil until it has come.
    var greeting: BrokerLine?

    /// Whether the broker has a feature.
    func offers(_ feature: String) -> Bool { greeting?["features"]?.strings?.contains(feature) == true }

    /// The number of lines sent so far. The broker names a line without an id by its number.
    var linesSent = 0
    /// Whether the last error was that the broker is gone or doesn't answer.
    private(set) var isLost = false
    private var socket: LineSocket
    private let users: TrustedUsers
    private let timeout: Double
    /// How long connecting took, which counts in the wait for the first line.
    private var connecting = 0.0
    private let poller = PollPoller()
    private var stops: Signals?
    private var isEnded = false

    /// Connects. Throws a `CommandError` that names the path and says how to start a broker.
    init(
        path: String, trusting users: TrustedUsers = .own, timeout: Double = BrokerConnection.timeoutSeconds
    ) throws {
        self.path = path
        self.users = users
        self.timeout = timeout
        let start = MonotonicClock.nanoseconds()
        do {
            socket = LineSocket(try UnixSocket.connect(path: path, trusting: users, seconds: timeout))
        } catch {
            throw NoBroker.error(path: path, error)
        }
        connecting = Self.seconds(since: start)
        try poller.add(socket.fd, token: 0, interest: .read)
    }

    /// The process that opened the broker's socket; 0 if the system doesn't say, or it can't be seen from here.
    var peerProcess: Int32 { PeerIdentity(of: socket.fd)?.process ?? 0 }

    private static func seconds(since start: UInt64) -> Double {
        Double(MonotonicClock.nanoseconds() - start) / 1e9
    }

    /// Closes the connection to a broker that is gone. Other watched descriptors stay watched.
    func leave() {
        poller.remove(socket.fd)
        isLost = true
    }

    /// Connects again after `leave`. Nothing from the old connection stays.
    func connectAgain() throws {
        let start = MonotonicClock.nanoseconds()
        do {
            socket = LineSocket(try UnixSocket.connect(path: path, trusting: users, seconds: timeout))
        } catch {
            // Don't wait for another user's broker, or in front of a closed folder.
            isLost = error is SystemError
            throw NoBroker.error(path: path, error)
        }
        (isLost, isEnded, connecting, linesSent) = (false, false, Self.seconds(since: start), 0)
        try poller.add(socket.fd, token: 0, interest: .read)
    }

    /// Waits while there is no broker.
    func rest(milliseconds: Int32) throws {
        try fill(milliseconds: milliseconds)
    }

    /// Sends bytes, and reads meanwhile. Otherwise this program and the broker could wait for each other for
    /// ever.
    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            switch socket.send(bytes.span[sent...]) {
            case .bytes(let count): sent += count
            case .wouldBlock: guard waitToSend() else { throw late() }
            case .ended: throw farewell()
            case .failed(let code): throw gone(SystemError(code: code, operation: "send"))
            }
        }
    }

    /// Whether the next line has come already.
    var hasLine: Bool { socket.hasLine }

    /// Waits for the next line. Throws if none comes by the deadline, or if the broker goes away.
    func nextLine() throws -> BrokerLine {
        let deadline = TimeLimit(seconds: timeout - connecting)
        connecting = 0
        while true {
            if let line = try takeLine() { return line }
            if isEnded { throw gone(nil) }
            guard let left = deadline.milliseconds else { throw late() }
            try fill(milliseconds: left)
        }
    }

    /// A line that has come already or comes within the time; nil if none does.
    func nextLine(milliseconds: Int32) throws -> BrokerLine? {
        if let line = try takeLine() { return line }
        if isEnded { throw gone(nil) }
        try fill(milliseconds: milliseconds)
        return try takeLine()
    }

    /// Makes waits end when the reader of standard output is gone. So `subscribe | head -1` ends with `head`
    /// and not at the next event.
    func watchOutput() throws {
        try poller.add(StandardStream.output.fd, token: 1, interest: [])
    }

    /// Makes waits throw `Interrupted` when this descriptor is ready, for example because of a signal or a
    /// typed key. Lines from the broker until then are kept.
    func watch(_ fd: Int32, for interest: Interest = .read) throws {
        try poller.add(fd, token: 2, interest: interest)
    }

    /// Makes waits throw `Interrupted` when a signal asks for the end: Ctrl-C, SIGTERM, a closed terminal.
    func watchStops() throws {
        let signals = try Signals(catching: [SIGINT, SIGTERM, SIGHUP])
        stops = signals
        try watch(signals.raw)
    }

    /// Call it before the descriptor is closed.
    func unwatch(_ fd: Int32) {
        poller.remove(fd)
    }

    /// Waits until a watched descriptor is ready, and throws `Interrupted`, or until the time (negative: for
    /// ever) passes. It reads nothing from the broker, which keeps back what this program has no room for.
    func waitForWatched(milliseconds: Int32) throws {
        poller.remove(socket.fd)
        let waited = Result { try fill(milliseconds: milliseconds) }
        if !isLost { try poller.add(socket.fd, token: 0, interest: .read) }
        _ = try waited.get()
    }

    /// Waits until `fd` can be read, and reads from the broker meanwhile; false if the time
    /// (negative: for ever) passes first.
    func wait(for fd: Int32, milliseconds: Int32) throws -> Bool {
        try poller.add(fd, token: 3, interest: .read)
        defer { poller.remove(fd) }
        let deadline = TimeLimit(seconds: Double(milliseconds) / 1_000)
        while !isEnded {
            let left = milliseconds < 0 ? -1 : deadline.milliseconds ?? 0
            let ready = try fill(milliseconds: left)
            if ready.contains(3) { return true }
            if left == 0 { return false }
        }
        throw farewell()
    }

    /// Waits for bytes, or for the time to pass (negative: for ever). Returns the tokens of the
    /// ready descriptors.
    @discardableResult
    private func fill(milliseconds: Int32) throws -> Set<UInt64> {
        var ready: Set<UInt64> = []
        var outputIsGone = false
        try poller.wait(milliseconds: milliseconds) { readiness in
            ready.insert(readiness.token)
            if readiness.token == 0, readiness.canRead || readiness.isGone { self.read() }
            if readiness.token == 1, readiness.isGone { outputIsGone = true }
        }
        if outputIsGone { throw ReaderGone() }
        if ready.contains(2) { throw Interrupted() }
        return ready
    }

    private func read() {
        switch socket.receive() {
        case .bytes, .wouldBlock: return
        case .ended, .failed: isEnded = true
        }
    }

    private func takeLine() throws -> BrokerLine? {
        guard let line = socket.line() else { return nil }
        guard let parsed = BrokerLine(line[...]) else {
            throw CommandError(.unavailable, "what answers at \(path) is not a Plugboard broker")
        }
        if parsed.kind == .event("bye") { throw farewell(parsed) }
        return parsed
    }

    /// Returns false if nothing could be sent or received for the whole time. Nothing interrupts this wait,
    /// because half a line would have been sent.
    private func waitToSend() -> Bool {
        let milliseconds = TimeLimit(seconds: timeout).milliseconds ?? 0
        let ready = PipeCalls.wait(for: [.read, .write], of: socket.fd, milliseconds: milliseconds)
        guard ready != 0 else { return false }
        read()
        return true
    }

    /// The error if the broker closes while something is being sent. The broker's last line gives the reason.
    private func farewell() -> any Error {
        while !isEnded {
            read()
            guard (try? poller.wait(milliseconds: 100, { _ in })) != nil else { break }
        }
        do {
            while try takeLine() != nil {}
        } catch {
            return error
        }
        return gone(nil)
    }

    private func farewell(_ line: BrokerLine) -> CommandError {
        let message = line["message"]?.string ?? line["reason"]?.string ?? "no reason given"
        return lost("the broker closed the connection: \(SystemText.ofPlain(message))")
    }

    private func gone(_ error: SystemError?) -> CommandError {
        lost("the broker at \(path) went away" + (error.map { " (\($0))" } ?? ""))
    }

    private func late() -> CommandError {
        lost("no answer from the broker at \(path) within \(Amount.seconds(timeout))")
    }

    private func lost(_ message: String) -> CommandError {
        isLost = true
        return CommandError(.unavailable, message)
    }
}

/// Another watched descriptor became ready during the wait for the broker. If that is a signal, a command that
/// runs until it was asked to stop is done.
struct Interrupted: Error {}

/// The error if no broker answers, or only another user's.
enum NoBroker {
    static func error(path: String, _ reason: any Error) -> CommandError {
        switch reason {
        case let reason as UntrustedBroker: error(reason)
        case let reason as SystemError: error(path: path, reason: reason)
        default: CommandError(.unavailable, "\(reason)")
        }
    }

    private static func error(_ reason: UntrustedBroker) -> CommandError {
        let hints = reason.owner.map { ["if \($0) is to be trusted: --peer \(ShellWord.quoted($0))"] }
        return CommandError(.unavailable, "\(reason)", hints: hints ?? [])
    }

    private static func error(path: String, reason: SystemError) -> CommandError {
        if reason.isQueueFull {
            let message = "the broker at \(path) lets nobody in: too many clients wait to be accepted"
            return CommandError(.unavailable, message)
        }
        switch FileStatus(path: path).kind {
        case .file, .folder, .other: return CommandError(.unavailable, "\(path) is no socket, so no broker")
        case .socket, .missing: break
        }
        let option = CommandOption.socketWords(path)
        return CommandError(
            .unavailable,
            "no broker at \(path) (\(reason.reason))",
            hints: [
                "start one with plugins: \(Program.spelling) up\(option)",
                "or one alone:           \(Program.spelling) broker\(option)",
            ]
        )
    }
}
