// One connection of the load generator. While it is set up, calls wait, with a
// deadline; once it carries load, the generator's loop reads and writes it.

import PlugboardPosix

/// Where a server listens.
enum Endpoint: Sendable {
    case unix(String)
    case tcp(UInt16)

    func connect() throws -> Link {
        switch self {
        case .unix(let path): Link(try UnixSocket.connect(path: path))
        case .tcp(let port): Link(try LoopbackSocket.connect(port: port))
        }
    }
}

/// A connection to a server. Used by one thread.
final class Link {
    private static let patienceMilliseconds: Int32 = 20_000
    private let descriptor: Descriptor

    init(_ descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    var fd: Int32 { descriptor.raw }

    /// Sends all of it.
    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let transfer = bytes.withUnsafeBytes {
                descriptor.write(UnsafeRawBufferPointer(rebasing: $0[sent...]))
            }
            switch transfer {
            case .bytes(let count): sent += count
            case .wouldBlock: try wait(for: Int16(POLLOUT))
            case .ended: throw BenchError.closed
            case .failed(let code): throw SystemError(code: code, operation: "send")
            }
        }
    }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    /// What arrives until `isComplete` is content with it.
    @discardableResult
    func receive(until isComplete: (ArraySlice<UInt8>) -> Bool) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while !isComplete(bytes[...]) {
            switch chunk.withUnsafeMutableBytes({ descriptor.read(into: $0) }) {
            case .bytes(let count): bytes += chunk[..<count]
            case .wouldBlock: try wait(for: Int16(POLLIN))
            case .ended: throw BenchError.closed
            case .failed(let code): throw SystemError(code: code, operation: "receive")
            }
        }
        return bytes
    }

    /// What arrives until so many lines are complete.
    @discardableResult
    func receive(lines: Int) throws -> [UInt8] {
        try receive { bytes in bytes.count { $0 == 0x0A } >= lines }
    }

    /// Reads and forgets what has arrived.
    func discardArrived() {
        withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { buffer in
            while case .bytes = descriptor.read(into: buffer) {}
        }
    }

    private func wait(for events: Int16) throws {
        var entry = pollfd(fd: fd, events: events, revents: 0)
        let count = poll(&entry, 1, Self.patienceMilliseconds)
        if count == 0 { throw BenchError.stalled("no answer") }
        if count < 0, errno == EINTR { throw BenchError.interrupted }
    }
}
