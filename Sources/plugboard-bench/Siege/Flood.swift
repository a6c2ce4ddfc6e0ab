// Writes the same bytes to a broker without end, and reads and ignores all that comes back. It belongs to
// an attacker, and costs as little as possible: big pieces, and only line feeds are looked at.

import PlugboardMemory
import PlugboardPosix

/// The bytes that some connections repeat. Only one thread uses it.
struct Flood {
    /// How far a connection is with sending the bytes.
    private struct Progress {
        var sent = 0
        /// Lines that came since it began.
        var answered = 0
        var isWatchedForRoom = false
    }

    /// How much is read at once, if nothing else is said.
    static let inputBytes = 1_048_576
    private let links: [LoadLink]
    private let bytes: [UInt8]
    private let answers: Int
    private let poller: any Poller
    private var input: [UInt8]
    /// Of the first links, which send.
    private var progress: [Progress]

    /// `senders` send the bytes, each again when `answers` lines have come to it. `inputBytes` are read at once.
    init(
        _ senders: [LoadLink], _ bytes: [UInt8], answers: Int, reading others: [LoadLink],
        inputBytes: Int = inputBytes
    ) throws {
        links = senders + others
        progress = senders.map { _ in Progress() }
        self.bytes = bytes
        self.answers = answers
        input = [UInt8](repeating: 0, count: inputBytes)
        poller = try PollerKind.standard.make()
        for (index, link) in links.enumerated() {
            try poller.add(link.fd, token: UInt64(index), interest: .read)
        }
    }

    /// Sends what there is room for, then waits and reads. Throws `BenchError.closed` when the broker has
    /// closed a connection that sends.
    mutating func turn() throws {
        for index in progress.indices { try send(index) }
        var ready: [Int] = []
        try poller.wait(milliseconds: -1) { if $0.canRead || $0.isGone { ready.append(Int($0.token)) } }
        for index in ready { try read(index) }
    }

    private mutating func send(_ index: Int) throws {
        var now = progress[index]
        defer { progress[index] = now }
        if now.sent == bytes.count, now.answered >= answers { (now.sent, now.answered) = (0, 0) }
        if now.sent < bytes.count {
            now.sent += try DescriptorCalls.send(links[index].fd, bytes.span[now.sent...]).count("send") ?? 0
        }
        let wantsRoom = now.sent < bytes.count || now.answered >= answers
        guard wantsRoom != now.isWatchedForRoom else { return }
        now.isWatchedForRoom = wantsRoom
        let interest: Interest = wantsRoom ? [.read, .write] : .read
        try poller.change(links[index].fd, token: UInt64(index), interest: interest)
    }

    private mutating func read(_ index: Int) throws {
        let fd = links[index].fd
        var room = input.mutableSpan
        let transfer = DescriptorCalls.read(fd, into: &room)
        guard index < progress.count else {
            if transfer == .ended { poller.remove(fd) }
            return
        }
        guard let count = try transfer.count("receive") else { return }
        progress[index].answered += input.span[..<count].count(of: 0x0A)
    }
}
