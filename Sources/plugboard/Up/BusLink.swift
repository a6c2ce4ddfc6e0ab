// The connection of `up` itself to its broker. It never waits: a broker that hangs must not keep
// `up` from looking after its children. It keeps bytes that the broker doesn't take, up to a limit;
// past that it gives the connection up.

import PlugboardPosix
import PlugboardWire

/// A connection that is polled. Used by one thread.
final class BusLink {
    /// What may wait for the broker to read it.
    static let outboxBytesMax = 4 << 20
    /// What may wait for the end of its line.
    static let inboxBytesMax = 4 << 20

    /// The connection has ended.
    private(set) var isGone = false
    private var socket: LineSocket
    private var outbox: [UInt8] = []

    /// Connects. Throws `SystemError`.
    init(path: String) throws {
        socket = LineSocket(try UnixSocket.connect(path: path))
    }

    /// What to poll.
    var fd: Int32 { socket.fd }

    /// What to poll it for.
    var interest: Interest { outbox.isEmpty ? .read : [.read, .write] }

    /// Sends a line, or as much of it as goes now; the rest follows with `flush`.
    func send(_ line: [UInt8]) {
        guard !isGone else { return }
        guard outbox.count + line.count <= Self.outboxBytesMax else { return giveUp() }
        outbox += line
        flush()
    }

    /// Sends what waits, as far as the broker takes it.
    func flush() {
        while !outbox.isEmpty {
            switch socket.send(outbox.span) {
            case .bytes(let count): outbox.removeFirst(count)
            case .wouldBlock: return
            case .ended, .failed: return giveUp()
            }
        }
    }

    /// The lines that have come. It reads once, so that one busy peer doesn't starve the others.
    func receive() -> [BrokerLine] {
        guard !isGone else { return [] }
        switch socket.receive() {
        case .bytes, .wouldBlock: break
        case .ended, .failed: giveUp()
        }
        var lines: [BrokerLine] = []
        while let line = socket.line() {
            if let line = BrokerLine(line[...]) { lines.append(line) }
        }
        if socket.count > Self.inboxBytesMax { giveUp() }
        return lines
    }

    private func giveUp() {
        isGone = true
        outbox = []
    }
}
