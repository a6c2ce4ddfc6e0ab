// One stream's connection to the broker. It never waits. What comes is handed on only as far as there is
// room for it; then the socket isn't read, so the broker owes the page what follows, as to any slow
// observer. If the broker goes away, the link tries again until the stream ends.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// A connection to the broker for one page. Used by the server's thread.
final class BrokerLink {
    /// When to try again; nil while there is a connection.
    private(set) var retryNanoseconds: UInt64?
    private let path: String
    private let users: TrustedUsers
    private let name: String
    /// How long to wait between two attempts to connect.
    private let pauseNanoseconds: UInt64
    private var socket: LineSocket?
    private var outgoing: [UInt8] = []

    init(_ configuration: WebConfiguration) {
        (path, users, name) = (configuration.broker, configuration.users, configuration.name)
        pauseNanoseconds = UInt64(configuration.patience.retry * 1e9)
        retryNanoseconds = 0
    }

    /// The descriptor to poll; nil while there is no connection.
    var fd: Int32? {
        guard socket != nil else { return nil }
        return socket?.fd
    }

    var hasOutgoing: Bool { !outgoing.isEmpty }

    /// Connects if there is no connection. Returns false if there is still none.
    func connect(now: UInt64) -> Bool {
        do {
            socket = LineSocket(try UnixSocket.connect(path: path, trusting: users, seconds: 0))
            retryNanoseconds = nil
            return true
        } catch {
            retryNanoseconds = now + pauseNanoseconds
            return false
        }
    }

    /// Closes the connection, to try again in a moment.
    func drop(now: UInt64) {
        socket = nil
        outgoing = []
        retryNanoseconds = now + pauseNanoseconds
    }

    /// Sends a line as soon as the broker takes it.
    func send(_ line: [UInt8]) {
        outgoing += line
        if line.last != 0x0A { outgoing.append(0x0A) }
    }

    /// Sends what goes now. Returns false if the broker is gone.
    func flush() -> Bool {
        while !outgoing.isEmpty, socket != nil {
            switch socket?.send(outgoing.span) {
            case .bytes(let count): outgoing.removeFirst(count)
            case .wouldBlock: return true
            case .ended, .failed, nil: return false
            }
        }
        return true
    }

    /// Reads once. Returns false if the broker is gone.
    func receive() -> Bool {
        switch socket?.receive() {
        case .bytes, .wouldBlock: true
        case .ended, .failed, nil: false
        }
    }

    /// Lends the whole lines that have come, as long as `body` wants more. Returns false if a line has no
    /// end within the limit.
    func forEachLine(_ body: (Span<UInt8>) -> Bool) -> Bool {
        socket?.forEachLine { line in
            let kind = BrokerLineKind(line)
            if case .greeting(hasName: false) = kind {
                // A supervisor's plugin has its name already.
                send(ObjectWriter(op: "hello").adding("name", string: name).line)
            }
            return body(line)
        }
        return (socket?.count ?? 0) <= WebLimits.lineBytesMax
    }

    /// Whether a whole line has come that was not handed on yet.
    var hasLine: Bool { socket?.hasLine ?? false }
}
