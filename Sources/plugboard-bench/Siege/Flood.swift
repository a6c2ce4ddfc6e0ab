// Writes the same bytes to a broker without end, and reads and ignores all that comes back. It belongs to
// an attacker, and costs as little as possible: big pieces, and only line feeds are looked at.

import PlugboardMemory
import PlugboardPosix

/// The bytes that one connection repeats. Only one thread uses it.
struct Flood {
    private static let inputBytes = 1_048_576
    private let links: [LoadLink]
    private let bytes: [UInt8]
    private let answers: Int
    private let poller: any Poller
    private var input = [UInt8](repeating: 0, count: inputBytes)
    private var sent = 0
    private var answered = 0
    private var isWatchedForRoom = false

    /// `link` sends the bytes. It sends them again only when `answers` lines have come.
    init(_ link: LoadLink, _ bytes: [UInt8], answers: Int, reading others: [LoadLink]) throws {
        links = [link] + others
        self.bytes = bytes
        self.answers = answers
        poller = try PollerKind.standard.make()
        for (index, link) in links.enumerated() {
            try poller.add(link.fd, token: UInt64(index), interest: .read)
        }
    }

    /// Sends what there is room for, then waits and reads. Throws `BenchError.closed` when the broker has
    /// closed the sending connection.
    mutating func turn() throws {
        if sent == bytes.count, answered >= answers { (sent, answered) = (0, 0) }
        if sent < bytes.count {
            sent += try DescriptorCalls.send(links[0].fd, bytes.span[sent...]).count("send") ?? 0
        }
        let wantsRoom = sent < bytes.count || answered >= answers
        if wantsRoom != isWatchedForRoom {
            isWatchedForRoom = wantsRoom
            try poller.change(links[0].fd, token: 0, interest: wantsRoom ? [.read, .write] : .read)
        }
        var ready: [Int] = []
        try poller.wait(milliseconds: -1) { if $0.canRead || $0.isGone { ready.append(Int($0.token)) } }
        for index in ready { try read(index) }
    }

    private mutating func read(_ index: Int) throws {
        let fd = links[index].fd
        var room = input.mutableSpan
        let transfer = DescriptorCalls.read(fd, into: &room)
        if index > 0, transfer == .ended { return poller.remove(fd) }
        guard let count = try transfer.count("receive"), index == 0 else { return }
        answered += input.span[..<count].count(of: 0x0A)
    }
}
