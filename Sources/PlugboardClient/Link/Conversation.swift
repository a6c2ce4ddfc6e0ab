// The life of one connection, on the bus's thread: the greeting, then turns of writing, waiting and
// reading. It owns the descriptor. It ends when the connection ends, or when the link closes.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import Synchronization

/// The exchange with a broker over one descriptor.
final class Conversation {
    private static let wakeupToken: UInt64 = 0
    private static let socketToken: UInt64 = 1

    private let link: Link
    private var socket: LineSocket
    private let poller = PollPoller()
    private let reader: LineDispatch
    private var sending: [UInt8] = []
    private var sent = 0
    private var isBlocked = false
    /// Whether whole lines have come that aren't passed on yet, because a loop that is behind holds the link
    /// back.
    private var keepsLines = false
    /// Whether the broker has ended the connection. What is left of it is little, and is passed on in any
    /// case.
    private var isGone = false
    /// When to give up a broker that hasn't answered the first requests of the connection. After its
    /// greeting, only silence counts: the answers may come after the values of many keys.
    private var setupDeadline: UInt64

    init(_ link: Link, _ socket: consuming Descriptor) throws {
        self.link = link
        self.socket = LineSocket(socket)
        reader = LineDispatch(link, self.socket.end)
        setupDeadline = Link.deadline(after: link.options.connectTimeout.nanoseconds)
        try poller.add(link.wakeup.raw, token: Self.wakeupToken, interest: .read)
        try poller.add(self.socket.fd, token: Self.socketToken, interest: .read)
    }

    /// Whether the broker has answered the first requests of the connection.
    private(set) var wasSetUp = false

    /// Runs until the connection ends, and returns why it did.
    func run() -> BusError {
        do {
            while true {
                if let reason = flush() { return reason }
                let now = MonotonicClock.nanoseconds()
                link.expire(now)
                if let reason = checkSetup(now) { return reason }
                switch link.next(isBlocked: isBlocked) {
                case .write: continue
                case .end: return .closed
                case .wait(let deadline):
                    if let reason = try turn(Self.milliseconds(from: now, to: waitLimit(deadline))) {
                        return reader.reason ?? reason
                    }
                }
            }
        } catch {
            return .disconnected(reason: "\(error)")
        }
    }

    /// The milliseconds until a deadline, rounded up, so that a wait doesn't end before it.
    static func milliseconds(from now: UInt64, to deadline: UInt64) -> Int32 {
        if deadline == .max { return -1 }
        if deadline <= now { return 0 }
        return Int32(clamping: min((deadline - now) / 1_000_000 + 1, 60_000))
    }

    private func waitLimit(_ deadline: UInt64) -> UInt64 {
        wasSetUp ? deadline : min(deadline, setupDeadline)
    }

    private func checkSetup(_ now: UInt64) -> BusError? {
        if wasSetUp { return nil }
        wasSetUp = reader.isGreeted && link.isSetUp
        guard !wasSetUp, now >= setupDeadline else { return nil }
        let what = reader.isGreeted ? "answer" : "greeting"
        return .notABroker(path: link.socketPath, reason: "no \(what) in time")
    }

    /// Waits once and reads what has come. Returns why the connection ended, if it did.
    private func turn(_ milliseconds: Int32) throws -> BusError? {
        let reads = link.readsOn
        var interest: Interest = reads ? .read : []
        if isBlocked { interest.insert(.write) }
        try poller.change(socket.fd, token: Self.socketToken, interest: interest)
        var isReadable = false
        var isWoken = false
        try poller.wait(milliseconds: reads && keepsLines ? 0 : milliseconds) { ready in
            if ready.token == Self.wakeupToken {
                isWoken = true
            } else {
                isReadable = isReadable || ready.canRead || ready.isGone
                isGone = isGone || ready.isGone
                if ready.canWrite { isBlocked = false }
            }
        }
        if isWoken { link.wakeup.drain() }
        link.noteAwake()
        if isReadable || !reads, !wasSetUp, reader.isGreeted {
            setupDeadline = Link.deadline(after: link.options.connectTimeout.nanoseconds)
        }
        if keepsLines, reads || isGone, let reason = readLines() { return reason }
        if isReadable, !keepsLines || isGone, case .end(let reason) = read() { return reason }
        return nil
    }

    /// Writes until nothing is left, or until the broker takes no more.
    private func flush() -> BusError? {
        while !isBlocked {
            if sent == sending.count {
                link.take(&sending)
                sent = 0
                if sending.isEmpty { return nil }
            }
            switch socket.send(sending.span[sent...]) {
            case .bytes(let count):
                sent += count
                link.noteWritten(count)
            case .wouldBlock: isBlocked = true
            case .ended: return lastWords() ?? .disconnected(reason: "the broker closed the connection")
            case .failed(let code):
                return .disconnected(reason: "\(SystemError(code: code, operation: "send"))")
            }
        }
        return nil
    }

    /// Reads what is left after a failed write, because the broker may have said why it closed.
    private func lastWords() -> BusError? {
        isGone = true
        while true {
            switch read() {
            case .lines: continue
            case .nothing: return reader.reason
            case .end(let reason): return reader.reason ?? reason
            }
        }
    }

    /// The result of a read.
    private enum Outcome {
        case lines
        case nothing
        case end(BusError)
    }

    /// Reads once and passes on the complete lines.
    private func read() -> Outcome {
        switch socket.receive(upTo: ClientLimits.readBytes) {
        case .bytes:
            link.reads.add(1, ordering: .relaxed)
            return readLines().map { .end($0) } ?? .lines
        case .wouldBlock: return .nothing
        case .ended: return .end(.disconnected(reason: "the broker closed the connection"))
        case .failed(let code):
            return .end(.disconnected(reason: "\(SystemError(code: code, operation: "recv"))"))
        }
    }

    private func readLines() -> BusError? {
        var failure: BusError?
        keepsLines = false
        socket.forEachLine { line in
            failure = reader.read(line[..<LineFramer.trimmed(line, from: 0, to: line.count)])
            keepsLines = !isGone && !link.readsOn
            return failure == nil && !keepsLines
        }
        if let failure { return failure }
        if socket.count == 0 { reader.acknowledge() }
        socket.releaseMemory(ifMoreThan: 4 * ClientLimits.readBytes)
        guard socket.count <= ClientLimits.lineBytesMax else {
            return .disconnected(reason: "a line of more than \(ClientLimits.lineBytesMax) bytes")
        }
        return nil
    }
}
