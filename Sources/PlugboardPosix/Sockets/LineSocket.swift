// One end of a connection that carries lines: for commands, for `up`, for the library. Nothing here
// waits; who uses it polls its descriptor.

import PlugboardMemory

/// A socket, and what has come of lines that were not taken yet.
public struct LineSocket: ~Copyable {
    /// For those who send while another thread waits for what comes.
    public let end: SendingEnd
    private var inbox = ByteBuffer()
    /// How much of the inbox has been searched for a line feed.
    private var searched = 0

    public init(_ descriptor: consuming Descriptor) {
        end = SendingEnd(descriptor)
    }

    /// What to poll.
    public var fd: Int32 { end.fd }

    /// Bytes that have come and were not taken.
    public var count: Int { inbox.count }

    /// Sends as much as goes now.
    public func send(_ bytes: Span<UInt8>) -> Transfer { end.send(bytes) }

    /// Reads once.
    public mutating func receive(upTo count: Int = 64 * 1024) -> Transfer {
        var transfer = Transfer.wouldBlock
        let fd = end.fd
        inbox.append(upTo: count) { room in
            transfer = DescriptorCalls.read(fd, into: &room)
            guard case .bytes(let count) = transfer else { return 0 }
            return count
        }
        return transfer
    }

    /// A whole line has come.
    public var hasLine: Bool { inbox.bytes.firstIndex(of: 0x0A, from: searched) != nil }

    /// Takes the next line, without its line feed.
    public mutating func line() -> [UInt8]? {
        guard let feed = inbox.bytes.firstIndex(of: 0x0A, from: searched) else {
            searched = inbox.count
            return nil
        }
        let line = Array(inbox.bytes[..<feed])
        inbox.removeFirst(feed + 1)
        searched = 0
        return line
    }

    /// Lends the whole lines that have come, without their line feeds, as long as `body` wants more.
    public mutating func forEachLine(_ body: (Span<UInt8>) -> Bool) {
        var start = 0
        var goesOn = true
        while goesOn, let feed = inbox.bytes.firstIndex(of: 0x0A, from: max(start, searched)) {
            goesOn = body(inbox.bytes[start..<feed])
            start = feed + 1
        }
        inbox.removeFirst(start)
        searched = goesOn ? inbox.count : 0
    }

    /// After a burst: what a quiet connection holds stays small.
    public mutating func releaseMemory(ifMoreThan count: Int) {
        if inbox.isEmpty, inbox.allocatedBytes > count { inbox.releaseMemory() }
    }
}
