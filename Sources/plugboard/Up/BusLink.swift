// The connection of `up` itself to its broker. It never waits, because `up` must look after its children even
// if the broker hangs. It keeps bytes that the broker doesn't take, up to a limit. Past that limit it closes
// the connection.

import PlugboardPosix
import PlugboardWire

/// A connection that is polled. Used by one thread.
final class BusLink {
    /// The most bytes that wait until the broker reads them.
    static let outboxBytesMax = 4 << 20
    /// The most bytes of an incomplete line from the broker.
    static let inboxBytesMax = 4 << 20

    /// Whether the connection has ended.
    private(set) var isGone = false
    private var socket: LineSocket
    private var outbox: [UInt8] = []

    /// Connects, if that goes at once. Throws `SystemError`.
    init(path: String) throws {
        socket = LineSocket(try UnixSocket.connect(path: path, seconds: 0))
    }

    /// The descriptor to poll.
    var fd: Int32 { socket.fd }

    /// The events to poll it for.
    var interest: Interest { outbox.isEmpty ? .read : [.read, .write] }

    /// Sends a line, or the part of it that the socket takes now. `flush` sends the rest.
    func send(_ line: [UInt8]) {
        guard !isGone else { return }
        guard outbox.count + line.count <= Self.outboxBytesMax else { return giveUp() }
        outbox += line
        flush()
    }

    /// Sends waiting bytes, as far as the socket takes them.
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
