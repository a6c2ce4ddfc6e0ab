// One end of a connection, a line at a time, without a library. Every wait has a deadline. Sending reads
// what arrives meanwhile, because the broker stops reading from a client that doesn't read.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// A test's own connection. Only one thread uses it.
public final class LinePeer {
    /// Why a wait failed.
    public enum Problem: Error, CustomStringConvertible {
        case nothingCame(after: Double)
        case notTaken(after: Double)
        case failed(String)

        public var description: String {
            switch self {
            case .nothingCame(let seconds): "nothing came within \(seconds) s"
            case .notTaken(let seconds): "what was sent was not taken within \(seconds) s"
            case .failed(let reason): reason
            }
        }
    }

    private var socket: LineSocket
    private let seconds: Double
    private var isEnded = false

    public convenience init(path: String, seconds: Double = HangGuard.seconds) throws {
        self.init(try UnixSocket.connect(path: path), seconds: seconds)
    }

    public init(_ descriptor: consuming Descriptor, seconds: Double = HangGuard.seconds) {
        socket = LineSocket(descriptor)
        self.seconds = seconds
    }

    /// The next peer that connects. Throws if none does in time.
    public static func accept(_ listener: borrowing Descriptor, seconds: Double = HangGuard.seconds) throws
        -> LinePeer
    {
        let limit = TimeLimit(seconds: seconds)
        while !limit.isOver {
            if case .connection(let socket) = try UnixSocket.accept(listener.raw) {
                return LinePeer(socket, seconds: seconds)
            }
            _ = ready(listener.raw, for: .read, until: limit)
        }
        throw NeverHappened(description: "nobody connects")
    }

    public func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    public func send(_ bytes: [UInt8]) throws {
        let limit = TimeLimit(seconds: seconds)
        var sent = 0
        while sent < bytes.count {
            switch socket.send(bytes.span[sent...]) {
            case .bytes(let count): sent += count
            case .ended: return
            case .failed(let code): throw SystemError(code: code, operation: "send")
            case .wouldBlock:
                let ready = Self.ready(socket.fd, for: isEnded ? [.write] : [.read, .write], until: limit)
                guard !ready.isEmpty else { throw Problem.notTaken(after: seconds) }
                if ready.contains(.read) { try receive() }
            }
        }
    }

    /// Sends what the socket takes at once. Returns how many bytes that were.
    public func sendSome(_ bytes: [UInt8]) -> Int {
        guard case .bytes(let count) = socket.send(bytes.span) else { return 0 }
        return count
    }

    /// The next line without its LF; nil when the other end has closed.
    public func line() throws -> [UInt8]? {
        let limit = TimeLimit(seconds: seconds)
        while true {
            if let line = socket.line() { return line }
            if isEnded { return nil }
            guard !Self.ready(socket.fd, for: .read, until: limit).isEmpty else {
                throw Problem.nothingCame(after: seconds)
            }
            try receive()
        }
    }

    /// The next line as text, which must come.
    public func text() throws -> String {
        guard let line = try line() else { throw NeverHappened(description: "a further line") }
        return String(decoding: line, as: UTF8.self)
    }

    /// The lines that have arrived. Doesn't wait for more.
    public func available() -> [String] {
        var count = -1
        while count != socket.count, !isEnded {
            count = socket.count
            guard (try? receive()) != nil else { break }
        }
        var lines: [String] = []
        while let line = socket.line() { lines.append(String(decoding: line, as: UTF8.self)) }
        return lines
    }

    /// Ends the sending half.
    public func finish() {
        shutdown(socket.fd, Int32(SHUT_WR))
    }

    private func receive() throws {
        switch socket.receive() {
        case .bytes, .wouldBlock: break
        case .ended: isEnded = true
        case .failed(let code): throw SystemError(code: code, operation: "receive")
        }
    }

    private static func ready(_ fd: Int32, for interest: Interest, until limit: TimeLimit) -> Interest {
        let events =
            (interest.contains(.read) ? Int32(POLLIN) : 0) | (interest.contains(.write) ? Int32(POLLOUT) : 0)
        let ready = SystemCalls.wait(fd, for: events, milliseconds: limit.milliseconds ?? 0)
        var result: Interest = []
        if ready & Int32(POLLIN | POLLHUP | POLLERR) != 0 { result.insert(.read) }
        if ready & Int32(POLLOUT) != 0 { result.insert(.write) }
        return result.intersection(interest)
    }
}
