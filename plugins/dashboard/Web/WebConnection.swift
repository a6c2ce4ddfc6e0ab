// One connection of a browser: its bytes in both directions, and what it waits for. It makes no decision.
// The server's thread owns it.

import PlugboardMemory
import PlugboardPosix

/// The state of a browser's connection.
final class WebConnection {
    /// What happens next on it.
    enum Phase: Equatable {
        /// A request's head comes.
        case head
        /// The body of a request comes.
        case body(RequestHead, bytes: Int)
        /// The broker has to answer.
        case asked(id: Int64, stream: UInt64)
        /// It is a stream of events.
        case stream
        /// It ends when everything is sent.
        case ending
    }

    let number: UInt64
    var phase = Phase.head
    /// When the server loses its patience.
    var deadline: UInt64 = 0
    /// Whether a request was answered on it.
    var wasUsed = false
    /// Whether the connection ends after the present answer.
    var endsAfterAnswer = false
    /// The descriptors' present interest, as the poller knows it.
    var interest: Interest = .read
    private let socket: Descriptor
    private var inbox = ByteBuffer()
    private var outbox = ByteBuffer()

    init(_ socket: consuming Descriptor, number: UInt64) {
        self.socket = socket
        self.number = number
    }

    var fd: Int32 { socket.raw }
    var waitingBytes: Int { outbox.count }
    var receivedBytes: Int { inbox.count }

    /// Whether its bytes should be read. Nothing is read ahead of a request that is being answered.
    var wantsToRead: Bool {
        switch phase {
        case .head: inbox.count <= WebLimits.headBytesMax
        case .body(_, let bytes): inbox.count < bytes
        case .asked, .stream, .ending: true
        }
    }

    /// Reads once. Returns false if the browser is gone, or sends where it has nothing to say.
    func receive() -> Bool {
        var transfer = Transfer.wouldBlock
        let fd = socket.raw
        inbox.append(upTo: 16_384) { room in
            transfer = DescriptorCalls.read(fd, into: &room)
            guard case .bytes(let count) = transfer else { return 0 }
            return count
        }
        switch transfer {
        case .bytes: break
        case .wouldBlock: return true
        case .ended, .failed: return false
        }
        switch phase {
        case .head, .body: return true
        case .asked, .ending: return inbox.count <= WebLimits.headBytesMax
        case .stream: return false
        }
    }

    /// What has come, up to the longest head.
    func headBytes() -> [UInt8] {
        bytes(min(inbox.count, WebLimits.headBytesMax))
    }

    /// Removes bytes from the front of what has come.
    @discardableResult
    func take(_ count: Int) -> [UInt8] {
        let bytes = bytes(min(inbox.count, count))
        inbox.removeFirst(bytes.count)
        if inbox.isEmpty { inbox.releaseMemory() }
        return bytes
    }

    private func bytes(_ count: Int) -> [UInt8] { Self.first(count, of: inbox) }

    private static func first(_ count: Int, of buffer: borrowing ByteBuffer) -> [UInt8] {
        [UInt8](buffer.bytes[..<count])
    }

    func append(_ bytes: [UInt8]) { outbox.append(bytes.span) }

    /// A line of the broker as an event of the stream.
    func append(event line: Span<UInt8>) {
        outbox.append("data: ")
        outbox.append(line)
        outbox.append("\n\n")
    }

    /// A word of the server itself into the stream.
    func append(news name: String, _ data: String) {
        outbox.append(string: "event: \(name)\ndata: \(data)\n\n")
    }

    /// An empty comment.
    func appendHeartbeat() { outbox.append(":\n\n") }

    /// Sends what goes now. Returns whether bytes were sent; nil if the browser is gone.
    func flush() -> Bool? {
        var hasSent = false
        while !outbox.isEmpty {
            switch DescriptorCalls.send(socket.raw, outbox.bytes) {
            case .bytes(let count):
                outbox.removeFirst(count)
                hasSent = true
            case .wouldBlock: return hasSent
            case .ended, .failed: return nil
            }
        }
        outbox.releaseMemory()
        return hasSent
    }
}
