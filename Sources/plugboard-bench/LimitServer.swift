// What any broker costs at the least on this machine: a process that waits with the
// same poller, reads once and writes once per connection and turn, and copies every
// byte of every publisher to every observer without looking at it. It stands beside
// the broker in each comparison.

import PlugboardPosix

/// The copying server. Used by one thread.
struct LimitServer: ~Copyable {
    private static let listenerToken = UInt64.max
    private static let readBytes = 65_536

    private let listener: Descriptor
    private let poller: any Poller
    private var peers: [LimitPeer?] = []
    private var observers: [Int32] = []
    /// Publishers that have batches to be told of.
    private var owed: [Int32] = []
    /// What this turn's reads brought, in order.
    private var turn: UnsafeMutableRawBufferPointer
    private var turnBytes = 0

    /// Listens at `path`. Throws `SystemError` or `SocketPathError`.
    init(path: String) throws {
        let listener = try UnixSocket.listen(path: path)
        let poller = try PollerKind.standard.make()
        try poller.add(listener.raw, token: Self.listenerToken, interest: .read)
        self.listener = listener
        self.poller = poller
        turn = .allocate(byteCount: Self.readBytes * 2, alignment: 64)
    }

    deinit {
        turn.deallocate()
    }

    /// Serves until a signal ends the process.
    mutating func run() throws {
        while true {
            let poller = poller
            var failure: (any Error)?
            try poller.wait(milliseconds: -1) { ready in
                do { try handle(ready) } catch { failure = error }
            }
            if let failure { throw failure }
            try finishTurn()
        }
    }

    private mutating func handle(_ ready: Readiness) throws {
        guard ready.token != Self.listenerToken else { return try accept() }
        let fd = Int32(truncatingIfNeeded: ready.token)
        if ready.canRead || ready.isGone { receive(fd) }
        if ready.canWrite { try sendKept(fd) }
    }

    private mutating func accept() throws {
        while case .connection(let descriptor) = try UnixSocket.accept(listener.raw) {
            let fd = descriptor.release()
            while peers.count <= Int(fd) { peers.append(nil) }
            peers[Int(fd)] = LimitPeer()
            try poller.add(fd, token: UInt64(fd), interest: .read)
        }
    }

    private mutating func receive(_ fd: Int32) {
        reserveTurn()
        let target = UnsafeMutableRawBufferPointer(rebasing: turn[turnBytes..<(turnBytes + Self.readBytes)])
        switch DescriptorCalls.read(fd, into: target) {
        case .bytes(let count): take(count, from: fd)
        case .wouldBlock: return
        case .ended, .failed: close(fd)
        }
    }

    private mutating func take(_ count: Int, from fd: Int32) {
        switch peers[Int(fd)]?.role {
        case .publisher(let batchBytes):
            turnBytes += count
            guard batchBytes > 0 else { return }
            peers[Int(fd)]?.takenBytes += count
            if let peer = peers[Int(fd)], peer.takenBytes >= batchBytes { owed.append(fd) }
        case .unknown:
            let line = UnsafeRawBufferPointer(rebasing: turn[turnBytes..<(turnBytes + count)])
            let role = LimitPeer.Role(line: line)
            peers[Int(fd)]?.role = role
            if role == .observer { observers.append(fd) }
            _ = DescriptorCalls.send(fd, UnsafeRawBufferPointer(rebasing: line.suffix(1)))
        case .observer, .resting, nil: return
        }
    }

    /// Room for one more read; a turn of many publishers grows it.
    private mutating func reserveTurn() {
        guard turn.count - turnBytes < Self.readBytes else { return }
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: turn.count * 2, alignment: 64)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: turn[..<turnBytes]))
        turn.deallocate()
        turn = larger
    }

    private mutating func finishTurn() throws {
        if turnBytes > 0 {
            let bytes = UnsafeRawBufferPointer(rebasing: turn[..<turnBytes])
            for fd in observers { try send(bytes, to: fd) }
            turnBytes = 0
        }
        for fd in owed { tellBatches(fd) }
        owed.removeAll(keepingCapacity: true)
    }

    private mutating func send(_ bytes: UnsafeRawBufferPointer, to fd: Int32) throws {
        var sent = 0
        if peers[Int(fd)]?.kept.isEmpty == true, case .bytes(let count) = DescriptorCalls.send(fd, bytes) {
            sent = count
        }
        guard sent < bytes.count else { return }
        peers[Int(fd)]?.kept += bytes[sent...]
        try poller.change(fd, token: UInt64(fd), interest: [.read, .write])
    }

    private mutating func sendKept(_ fd: Int32) throws {
        guard let kept = peers[Int(fd)]?.kept, !kept.isEmpty else { return }
        let transfer = kept.withUnsafeBytes { DescriptorCalls.send(fd, $0) }
        guard case .bytes(let count) = transfer else { return }
        peers[Int(fd)]?.kept.removeFirst(count)
        if count == kept.count { try poller.change(fd, token: UInt64(fd), interest: .read) }
    }

    /// One byte for each batch that was taken in whole.
    private mutating func tellBatches(_ fd: Int32) {
        guard let peer = peers[Int(fd)], case .publisher(let batchBytes) = peer.role else { return }
        let batches = peer.takenBytes / batchBytes
        peers[Int(fd)]?.takenBytes -= batches * batchBytes
        withUnsafeTemporaryAllocation(byteCount: batches, alignment: 1) { buffer in
            buffer.initializeMemory(as: UInt8.self, repeating: 0x0A)
            _ = DescriptorCalls.send(fd, UnsafeRawBufferPointer(buffer))
        }
    }

    private mutating func close(_ fd: Int32) {
        poller.remove(fd)
        peers[Int(fd)] = nil
        observers.removeAll { $0 == fd }
        DescriptorCalls.close(fd)
    }
}

/// A connection of the copying server.
struct LimitPeer {
    enum Role: Equatable {
        case unknown
        case observer
        case resting
        /// Is told of each `batchBytes` taken in; never, where that is 0.
        case publisher(batchBytes: Int)

        /// From the first line of a connection: `O`, `R` or `P 1234`.
        init(line: UnsafeRawBufferPointer) {
            switch line.first {
            case UInt8(ascii: "P"):
                let digits = line.filter { (0x30...0x39).contains($0) }
                self = .publisher(batchBytes: Int(String(decoding: digits, as: UTF8.self)) ?? 0)
            case UInt8(ascii: "R"): self = .resting
            default: self = .observer
            }
        }
    }

    var role = Role.unknown
    /// Bytes since the last batch that was told.
    var takenBytes = 0
    /// What the system would not take yet.
    var kept: [UInt8] = []
}
