// A client of the broker under test, one line at a time. Every wait has a deadline. While
// it sends, it reads what arrives, because the broker stops reading from a client that
// doesn't read.

import Foundation
import PlugboardPosix
import PlugboardWire

/// A connection for one test. One thread uses it.
final class Peer {
    /// The result of a wait that should have ended otherwise.
    enum Problem: Error, CustomStringConvertible {
        case nothingCame(after: Double)
        case notTaken(after: Double)
        case failed(String)

        var description: String {
            switch self {
            case .nothingCame(let seconds): "nothing came within \(seconds) s"
            case .notTaken(let seconds): "the broker didn't take what was sent within \(seconds) s"
            case .failed(let reason): reason
            }
        }
    }

    private let descriptor: Descriptor
    private let seconds: Double
    private var inbox: [UInt8] = []
    private var start = 0
    private var searched = 0
    private var isEnded = false

    init(path: String, seconds: Double = 60) throws {
        descriptor = try UnixSocket.connect(path: path)
        self.seconds = seconds
    }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) throws {
        let deadline = Deadline(seconds)
        var sent = 0
        while sent < bytes.count {
            let transfer = descriptor.write(bytes.span[sent...])
            switch transfer {
            case .bytes(let count): sent += count
            case .ended: return
            case .failed(let code): throw Problem.failed(String(cString: strerror(code)))
            case .wouldBlock:
                let ready = wait(for: isEnded ? [.write] : [.read, .write], until: deadline)
                guard !ready.isEmpty else { throw Problem.notTaken(after: seconds) }
                if ready.contains(.read) { try receive() }
            }
        }
    }

    /// The next line without its LF; nil when the broker has closed.
    func line() throws -> [UInt8]? {
        let deadline = Deadline(seconds)
        while true {
            if let line = takeLine() { return line }
            if isEnded { return nil }
            guard !wait(for: [.read], until: deadline).isEmpty else {
                throw Problem.nothingCame(after: seconds)
            }
            try receive()
        }
    }

    /// Ends the sending half.
    func finish() {
        shutdown(descriptor.raw, Int32(SHUT_WR))
    }

    private func takeLine() -> [UInt8]? {
        let from = max(start, searched)
        guard let end = LineFramer.lineFeed(in: inbox.span, from: from) else {
            searched = inbox.count
            return nil
        }
        let line = Array(inbox[start..<end])
        start = end + 1
        if start > 1 << 16, start * 2 > inbox.count {
            inbox.removeFirst(start)
            start = 0
        }
        searched = start
        return line
    }

    private func receive() throws {
        let capacity = 1 << 16
        let chunk = try [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            switch descriptor.read(into: UnsafeMutableRawBufferPointer(buffer)) {
            case .bytes(let read): count = read
            case .wouldBlock: count = 0
            case .ended: isEnded = true
            case .failed(let code): throw Problem.failed(String(cString: strerror(code)))
            }
        }
        inbox.append(contentsOf: chunk)
    }

    private func wait(for interest: Interest, until deadline: Deadline) -> Interest {
        var events = 0 as Int32
        if interest.contains(.read) { events |= Int32(POLLIN) }
        if interest.contains(.write) { events |= Int32(POLLOUT) }
        var entry = pollfd(fd: descriptor.raw, events: Int16(events), revents: 0)
        while true {
            let count = poll(&entry, 1, deadline.milliseconds)
            if count == 0 { return [] }
            if count > 0 { break }
            if errno != EINTR { return [] }
        }
        let ready = Int32(entry.revents)
        var result: Interest = []
        if ready & Int32(POLLIN | POLLHUP | POLLERR) != 0 { result.insert(.read) }
        if ready & Int32(POLLOUT) != 0 { result.insert(.write) }
        return result.intersection(interest)
    }
}

/// A moment at which waiting stops.
struct Deadline {
    private let end: UInt64

    init(_ seconds: Double) {
        end = MonotonicClock.nanoseconds() + UInt64(seconds * 1e9)
    }

    var isOver: Bool { MonotonicClock.nanoseconds() >= end }

    /// The remaining time, for poll(2).
    var milliseconds: Int32 {
        let now = MonotonicClock.nanoseconds()
        return now >= end ? 0 : Int32((end - now) / 1_000_000 + 1)
    }
}
