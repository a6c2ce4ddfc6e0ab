// The least work that any broker has on this machine. The server waits with the same poller, reads and
// writes once for each connection and turn, and copies every byte of every publisher to every observer
// without looking at it. Where writes are durable, it keeps the bytes of a turn with one sync before it answers.
// Each row shows it beside the broker.

import PlugboardMemory
import PlugboardPosix

/// The server that copies. Only one thread uses it.
struct LimitServer: ~Copyable {
    private static let listenerToken = UInt64.max
    private static let readBytes = 65_536

    private let listener: Descriptor
    private let poller: any Poller
    private var peers: [LimitPeer?] = []
    private var observers: [LimitPeer] = []
    /// Publishers that must be told that batches arrived.
    private var owed: [LimitPeer] = []
    /// The bytes that were read in this turn, in order.
    private var turn = ByteBuffer()
    /// Where the bytes of each turn are kept before anybody is answered.
    private let log: LimitLog?

    /// With `folder`, what arrives is brought to a file there, with one sync for each turn.
    init(path: String, folder: String? = nil) throws {
        let log = try folder.map { try LimitLog(folder: $0) }
        let listener = try UnixSocket.listen(path: path)
        let poller = try PollerKind.standard.make()
        try poller.add(listener.raw, token: Self.listenerToken, interest: .read)
        self.listener = listener
        self.poller = poller
        self.log = log
        turn.reserve(Self.readBytes * 2)
    }

    /// Serves until a signal ends the process. Throws `SystemError`.
    mutating func run() throws {
        while true {
            let poller = poller
            var failure: (any Error)?
            try poller.wait(milliseconds: -1) { ready in
                do { try handle(ready) } catch { failure = error }
            }
            if let failure { throw failure }
            if !turn.isEmpty { try log?.keep(turn.bytes) }
            if !turn.isEmpty { for peer in observers { try peer.send(turn.bytes, poller) } }
            turn.removeAll()
            for peer in owed { peer.tellBatches() }
            owed.removeAll(keepingCapacity: true)
        }
    }

    private mutating func handle(_ ready: Readiness) throws {
        guard ready.token != Self.listenerToken else { return try accept() }
        guard let peer = peers[Int(ready.token)] else { return }
        if ready.canRead || ready.isGone { receive(peer) }
        if ready.canWrite { try peer.sendKept(poller) }
    }

    private mutating func accept() throws {
        while case .connection(let descriptor) = try UnixSocket.accept(listener.raw) {
            let fd = descriptor.raw
            while peers.count <= Int(fd) { peers.append(nil) }
            peers[Int(fd)] = LimitPeer(descriptor)
            try poller.add(fd, token: UInt64(fd), interest: .read)
        }
    }

    private mutating func receive(_ peer: LimitPeer) {
        let before = turn.count
        var transfer = Transfer.wouldBlock
        turn.append(upTo: Self.readBytes) { room in
            transfer = DescriptorCalls.read(peer.fd, into: &room)
            guard case .bytes(let count) = transfer else { return 0 }
            return count
        }
        switch transfer {
        case .bytes(let count): take(count, from: peer, at: before)
        case .wouldBlock: return
        case .ended, .failed:
            poller.remove(peer.fd)
            observers.removeAll { $0 === peer }
            peers[Int(peer.fd)] = nil
        }
    }

    private mutating func take(_ count: Int, from peer: LimitPeer, at place: Int) {
        switch peer.role {
        case .publisher(let batchBytes):
            peer.takenBytes += count
            if batchBytes > 0, peer.takenBytes >= batchBytes { owed.append(peer) }
        case .unknown:
            peer.role = LimitPeer.Role(line: turn.bytes[place...])
            if peer.role == .observer { observers.append(peer) }
            _ = DescriptorCalls.send(peer.fd, turn.bytes[(turn.count - 1)...])
            turn.truncate(to: place)
        case .observer, .resting: turn.truncate(to: place)
        }
    }
}

/// A connection of the server.
final class LimitPeer {
    enum Role: Equatable {
        case unknown
        case observer
        case resting
        /// It is told after each `batchBytes` bytes; never if that is 0.
        case publisher(batchBytes: Int)

        /// Reads the role from the first line of a connection: `O`, `R` or `P 1234`.
        init(line: Span<UInt8>) {
            switch line.first {
            case UInt8(ascii: "P"):
                let digits = Array(line).filter { (0x30...0x39).contains($0) }
                self = .publisher(batchBytes: Int(String(decoding: digits, as: UTF8.self)) ?? 0)
            case UInt8(ascii: "R"): self = .resting
            default: self = .observer
            }
        }
    }

    private let descriptor: Descriptor
    var role = Role.unknown
    /// Bytes that were read since the last batch of which it was told.
    var takenBytes = 0
    /// Bytes that couldn't be sent yet.
    private var kept = ByteBuffer()

    init(_ descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    var fd: Int32 { descriptor.raw }

    func send(_ bytes: Span<UInt8>, _ poller: any Poller) throws {
        var sent = 0
        if kept.isEmpty, case .bytes(let count) = DescriptorCalls.send(fd, bytes) { sent = count }
        guard sent < bytes.count else { return }
        kept.append(bytes[sent...])
        try poller.change(fd, token: UInt64(fd), interest: [.read, .write])
    }

    func sendKept(_ poller: any Poller) throws {
        guard !kept.isEmpty, case .bytes(let count) = DescriptorCalls.send(fd, kept.bytes) else { return }
        kept.removeFirst(count)
        if kept.isEmpty { try poller.change(fd, token: UInt64(fd), interest: .read) }
    }

    /// Sends one byte for each batch that was read completely.
    func tellBatches() {
        guard case .publisher(let batchBytes) = role else { return }
        let batches = takenBytes / batchBytes
        takenBytes -= batches * batchBytes
        withTemporarySpan(of: UInt8(ascii: "\n"), count: batches) { feeds in
            _ = DescriptorCalls.send(fd, feeds.span)
        }
    }
}
