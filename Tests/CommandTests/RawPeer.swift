import PlugboardPosix

/// A connection without a library: bytes out, lines in, with a deadline on each.
final class RawPeer {
    private let descriptor: Descriptor
    private var unread: [UInt8] = []

    init(path: String) throws {
        descriptor = try UnixSocket.connect(path: path)
    }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let transfer = bytes.withUnsafeBytes {
                descriptor.write(UnsafeRawBufferPointer(rebasing: $0[sent...]))
            }
            switch transfer {
            case .bytes(let count): sent += count
            case .wouldBlock: try wait(Int16(POLLOUT))
            default: throw NeverHappened(description: "the broker takes what is sent")
            }
        }
    }

    func line() throws -> String {
        while true {
            if let feed = unread.firstIndex(of: 0x0A) {
                defer { unread.removeFirst(feed + 1) }
                return String(decoding: unread[..<feed], as: UTF8.self)
            }
            var buffer = [UInt8](repeating: 0, count: 4_096)
            switch buffer.withUnsafeMutableBytes({ descriptor.read(into: $0) }) {
            case .bytes(let count): unread += buffer[..<count]
            case .wouldBlock: try wait(Int16(POLLIN))
            default: throw NeverHappened(description: "the broker has more to say")
            }
        }
    }

    /// The lines that have arrived, without waiting for more.
    func available() -> [String] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case .bytes(let count) = buffer.withUnsafeMutableBytes({ descriptor.read(into: $0) }) {
            unread += buffer[..<count]
        }
        var lines = unread.split(separator: 0x0A, omittingEmptySubsequences: false)
        unread = Array(lines.removeLast())
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Sends what the system takes at once. Returns how many bytes that was.
    func sendSome(_ bytes: [UInt8]) -> Int {
        guard case .bytes(let count) = bytes.withUnsafeBytes({ descriptor.write($0) }) else { return 0 }
        return count
    }

    private func wait(_ events: Int16) throws {
        var entry = pollfd(fd: descriptor.raw, events: events, revents: 0)
        guard poll(&entry, 1, 60_000) > 0 else {
            throw NeverHappened(description: "an answer within a minute")
        }
    }
}
