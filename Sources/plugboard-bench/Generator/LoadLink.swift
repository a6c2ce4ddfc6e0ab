// A connection of the load generator. During the setup, its calls wait, with a deadline. Under load, the
// generator's loop reads and writes. The connection closes when this object goes.

import PlugboardMemory
import PlugboardPosix

/// The address of a server.
enum Endpoint: Sendable {
    case unix(String)
    case tcp(UInt16)

    func connect() throws -> LoadLink {
        switch self {
        case .unix(let path): LoadLink(try UnixSocket.connect(path: path))
        case .tcp(let port): LoadLink(try LoopbackSocket.connect(port: port))
        }
    }
}

/// A connection to a server. Only one thread uses it.
final class LoadLink {
    private static let patienceMilliseconds: Int32 = 20_000
    private static let chunkBytes = 65_536
    private let descriptor: Descriptor

    init(_ descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    var fd: Int32 { descriptor.raw }

    /// Sends all bytes. Waits up to 20 seconds for room. Throws `BenchError`.
    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let transfer = descriptor.write(bytes.span[sent...])
            if let count = try transfer.count("send") { sent += count } else { try wait(for: .write) }
        }
    }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    /// Receives until `isComplete` returns true. Waits up to 20 seconds for each read. Throws
    /// `BenchError`.
    @discardableResult
    func receive(until isComplete: (ArraySlice<UInt8>) -> Bool) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: Self.chunkBytes)
        while !isComplete(bytes[...]) {
            var room = chunk.mutableSpan
            let transfer = descriptor.read(into: &room)
            if let count = try transfer.count("receive") {
                bytes += chunk[..<count]
            } else {
                try wait(for: .read)
            }
        }
        return bytes
    }

    /// Receives until `lines` lines are complete.
    @discardableResult
    func receive(lines: Int) throws -> [UInt8] {
        try receive { bytes in bytes.count { $0 == 0x0A } >= lines }
    }

    /// Sends a text and waits for `lines` lines.
    func ask(_ text: String, lines: Int) throws -> String {
        try send(text)
        return String(decoding: try receive(lines: lines), as: UTF8.self)
    }

    /// Reads and ignores what has arrived.
    func discardArrived() {
        withTemporarySpan(of: UInt8(0), count: Self.chunkBytes) { room in
            while case .bytes = descriptor.read(into: &room) {}
        }
    }

    private func wait(for interest: Interest) throws {
        let count = PipeCalls.wait(for: interest, of: fd, milliseconds: Self.patienceMilliseconds)
        if count == 0 { throw BenchError.stalled("no answer") }
        if count < 0, errno == EINTR { throw BenchError.interrupted }
    }
}

extension Transfer {
    /// How many bytes were moved; nil if none can be now.
    func count(_ operation: String) throws -> Int? {
        switch self {
        case .bytes(let count): return count
        case .wouldBlock: return nil
        case .ended: throw BenchError.closed
        case .failed(let code): throw SystemError(code: code, operation: operation)
        }
    }
}
