// Sockets in memory that take and give at once, and count what the broker does with them. Nothing is left to
// chance, so a turn's work is the same in each run.

import PlugboardPosix
import TestSupport

@testable import PlugboardBroker

/// The sockets of a siege, and waiting for them. Only one thread uses it.
final class SiegeNetwork: Sockets, Poller {
    /// Above all descriptors that a process can have, so that closing one by mistake does nothing.
    private static let firstDescriptor: Int32 = 1 << 24
    static let listener: Int32 = firstDescriptor - 1
    static var isCheckedEachTurn: Bool { false }

    /// A client's end of a connection.
    final class Link {
        fileprivate(set) var toBroker = SimulatedPipe()
        fileprivate var toClient: [UInt8] = []
        /// Whether it takes what it is sent.
        var reads = true
        fileprivate var isClosed = false
        fileprivate var watch: (token: UInt64, interest: Interest)?

        /// What it was sent since the last call, if it reads.
        func take() -> [UInt8] {
            defer { toClient.removeAll(keepingCapacity: true) }
            return toClient
        }
    }

    /// What the broker did.
    struct Counts: Equatable {
        var readBytes = 0
        var sends = 0
        var closings = 0
        /// What was ready, once for each turn in which the broker was shown it.
        var listed = 0
    }

    private(set) var counts = Counts()
    /// Called when the broker begins a turn.
    var atTurn: () throws -> Void = {}
    /// Called when the broker reads or sends.
    var atTransfer: () -> Void = {}
    private var links: [Int32: Link] = [:]
    /// In the order in which they connected, as the system shows what is ready.
    private var order: [Int32] = []
    private var waiting: [Link] = []
    private var listenerToken: UInt64?
    /// Whether the broker is woken up from another thread.
    var isWoken = false
    private var wakeupToken: UInt64?

    func connect() -> Link {
        let link = Link()
        waiting.append(link)
        return link
    }

    func send(_ bytes: some Collection<UInt8>, _ link: Link) { link.toBroker.append(bytes) }

    /// Ends a connection without goodbye.
    func close(_ link: Link) { link.isClosed = true }

    // MARK: Sockets

    func accept(_ listener: Int32) throws -> Acceptance {
        try Acceptance.of {
            if waiting.isEmpty { return failing(EAGAIN) }
            let fd = Self.firstDescriptor + Int32(order.count)
            order.append(fd)
            links[fd] = waiting.removeFirst()
            return fd
        }
    }

    func peer(of descriptor: borrowing Descriptor) -> PeerIdentity {
        PeerIdentity(process: 1, user: Accounts.ownUser)
    }

    func groups(of descriptor: borrowing Descriptor) -> [UInt32] { [] }
    /// No plugin is part of this.
    func end(_ descriptor: borrowing Descriptor) {}

    func read(_ descriptor: borrowing Descriptor, into buffer: inout MutableSpan<UInt8>) -> Transfer {
        guard let link = links[descriptor.raw] else { return .failed(EBADF) }
        atTransfer()
        return Transfer.ofReading {
            if link.toBroker.isEmpty { return link.isClosed ? 0 : failing(EAGAIN) }
            let count = min(buffer.count, link.toBroker.count)
            link.toBroker.take(count, into: &buffer)
            counts.readBytes += count
            return count
        }
    }

    func write(_ bytes: Span<UInt8>, to descriptor: borrowing Descriptor) -> Transfer {
        send(descriptor.raw) { Array(bytes) }
    }

    func write(gathering pieces: borrowing GatheredBytes, to descriptor: borrowing Descriptor) -> Transfer {
        var all: [UInt8] = []
        for index in 0..<pieces.count { all += Array(pieces[index]) }
        return send(descriptor.raw) { all }
    }

    private func send(_ fd: Int32, _ bytes: () -> [UInt8]) -> Transfer {
        guard let link = links[fd] else { return .failed(EBADF) }
        atTransfer()
        return Transfer.ofSending {
            counts.sends += 1
            if link.isClosed { return failing(EPIPE) }
            if !link.reads { return failing(EAGAIN) }
            let bytes = bytes()
            link.toClient += bytes
            return bytes.count
        }
    }

    private func failing<Result: SignedInteger>(_ code: Int32) -> Result {
        errno = code
        return -1
    }

    // MARK: Waiting

    func add(_ fd: Int32, token: UInt64, interest: Interest) throws {
        if fd == Self.listener {
            listenerToken = token
        } else if links[fd] == nil, wakeupToken == nil {
            wakeupToken = token
        }
        links[fd]?.watch = (token, interest)
    }

    func change(_ fd: Int32, token: UInt64, interest: Interest) throws {
        links[fd]?.watch = (token, interest)
    }

    func remove(_ fd: Int32) { if links.removeValue(forKey: fd) != nil { counts.closings += 1 } }

    func wait(milliseconds: Int32, _ body: (Readiness) -> Void) throws {
        try atTurn()
        if let listenerToken, !waiting.isEmpty { body(Self.readable(listenerToken)) }
        if let wakeupToken, isWoken { body(Self.readable(wakeupToken)) }
        isWoken = false
        for fd in order {
            guard let link = links[fd], let (token, interest) = link.watch, !interest.contains(.known) else {
                continue
            }
            let canRead = interest.contains(.read) && (!link.toBroker.isEmpty || link.isClosed)
            let canWrite = interest.contains(.write) && (link.reads || link.isClosed)
            guard canRead || canWrite || link.isClosed else { continue }
            counts.listed += 1
            body(Readiness(token: token, canRead: canRead, canWrite: canWrite, isGone: link.isClosed))
        }
    }

    private static func readable(_ token: UInt64) -> Readiness {
        Readiness(token: token, canRead: true, canWrite: false, isGone: false)
    }
}
