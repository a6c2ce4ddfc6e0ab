// Sockets in memory, and waiting for them, as the kernel does it. Bytes arrive in pieces of any size,
// calls are interrupted, room is short, and peers vanish. Every choice comes from one seed; without one, nothing is
// left to chance. The broker's calls of `wait` drive everything.

import PlugboardPosix
import TestSupport

@testable import PlugboardBroker

/// The system around one simulated broker. Only one thread uses it.
class SimulatedNetwork: Sockets, Poller {
    /// Above all descriptors that a process can have, so that closing one by mistake does nothing.
    private static let firstDescriptor: Int32 = 1 << 24
    static let listener: Int32 = firstDescriptor - 1
    class var isCheckedEachTurn: Bool { true }

    private struct Watch {
        var token: UInt64
        var interest: Interest
    }

    let chance: Chance?
    let time: SimulatedTime
    /// What the broker watches, and the order in which it began to.
    private var watches: [Int32: Watch] = [:]
    private var order: [Int32] = []
    private(set) var links: [Int32: SimulatedLink] = [:]
    private var waiting: [SimulatedLink] = []
    private var lastDescriptor = firstDescriptor
    /// The world, which acts while the broker waits.
    weak var world: SimulatedWorld?
    /// The descriptor on which the broker is told to stop, of a new policy, or of news of the journal.
    var ordersDescriptor: Int32 = -1

    init(chance: Chance?, time: SimulatedTime) {
        self.chance = chance
        self.time = time
    }

    /// Connects a client, which can send at once.
    func connect(room: Int, user: UInt32) -> SimulatedLink {
        let link = SimulatedLink(room: room, user: user)
        link.notePolicy(world?.policyInForce ?? 0)
        waiting.append(link)
        return link
    }

    /// Ends all connections, because the broker's process is gone.
    func dropAll() {
        for link in waiting + links.sorted(by: { $0.key < $1.key }).map(\.value) { close(link) }
        waiting = []
        links = [:]
        watches = [:]
        order = []
    }

    /// Notes that another policy is followed from now on.
    func notePolicy(_ policy: Int) {
        for link in waiting + links.values { link.notePolicy(policy) }
    }

    /// The broker closes a connection.
    func close(_ link: SimulatedLink) {
        link.isClosedByBroker = true
        link.closedAt = link.closedAt ?? world?.count()
    }

    // MARK: Sockets

    func accept(_ listener: Int32) throws -> Acceptance {
        try Acceptance.of {
            if happens(oneIn: 12) { return Self.failing(EINTR) }
            if happens(oneIn: 20) { return Self.failing(ECONNABORTED) }
            if waiting.isEmpty { return Self.failing(EAGAIN) }
            if happens(oneIn: 60) { return Self.failing(EMFILE) }
            lastDescriptor += 1
            links[lastDescriptor] = waiting.removeFirst()
            return lastDescriptor
        }
    }

    func peer(of descriptor: borrowing Descriptor) -> PeerIdentity {
        PeerIdentity(process: 1, user: links[descriptor.raw]?.user ?? Accounts.ownUser)
    }

    func groups(of descriptor: borrowing Descriptor) -> [UInt32] { [] }
    /// No plugin is part of this.
    func end(_ descriptor: borrowing Descriptor) {}

    func read(_ descriptor: borrowing Descriptor, into buffer: inout MutableSpan<UInt8>) -> Transfer {
        guard let link = links[descriptor.raw] else { return .failed(EBADF) }
        return Transfer.ofReading {
            if happens(oneIn: 15) { return Self.failing(EINTR) }
            if link.toBroker.isEmpty {
                if link.isReset {
                    link.isReset = false
                    return Self.failing(ECONNRESET)
                }
                return link.hasEnded ? 0 : Self.failing(EAGAIN)
            }
            if happens(oneIn: 25) { return Self.failing(EAGAIN) }
            let count = part(of: min(buffer.count, link.toBroker.count))
            for (place, byte) in link.toBroker.take(count).enumerated() { buffer[place] = byte }
            return count
        }
    }

    func write(_ bytes: Span<UInt8>, to descriptor: borrowing Descriptor) -> Transfer {
        guard let link = links[descriptor.raw] else { return .failed(EBADF) }
        return Transfer.ofSending { take(bytes, for: link) }
    }

    /// Takes bytes of the broker for a client. Returns how many.
    func take(_ bytes: Span<UInt8>, for link: SimulatedLink) -> Int {
        world?.lookAtReports()
        if happens(oneIn: 15) { return Self.failing(EINTR) }
        if link.isClosedByClient { return Self.failing(EPIPE) }
        let room = link.room - link.toClient.count
        if room <= 0 || happens(oneIn: 25) { return Self.failing(EAGAIN) }
        let count = part(of: min(room, bytes.count))
        link.toClient += Array(bytes[..<count])
        link.sent += count
        return count
    }

    private func happens(oneIn count: Int) -> Bool { chance?.isOne(in: count) ?? false }
    private func part(of count: Int) -> Int { chance?.part(of: count) ?? count }

    private static func failing<Result: SignedInteger>(_ code: Int32) -> Result {
        errno = code
        return -1
    }

    // MARK: Waiting

    func add(_ fd: Int32, token: UInt64, interest: Interest) throws {
        order.append(fd)
        watches[fd] = Watch(token: token, interest: interest)
    }

    func change(_ fd: Int32, token: UInt64, interest: Interest) throws {
        if watches[fd] != nil { watches[fd] = Watch(token: token, interest: interest) }
    }

    func remove(_ fd: Int32) {
        if watches.removeValue(forKey: fd) != nil { order.removeAll { $0 == fd } }
        if let link = links.removeValue(forKey: fd) { close(link) }
    }

    /// Closes connections that were accepted and aren't watched: they were turned away.
    private func closeTurnedAway() {
        for fd in links.keys.sorted() where watches[fd] == nil { remove(fd) }
    }

    func wait(milliseconds: Int32, _ body: (Readiness) throws -> Void) throws {
        guard let world, let chance else { return }
        closeTurnedAway()
        try world.beginTurn()
        time.advance(nanoseconds: UInt64(chance.below(200_000)))
        if happens(oneIn: 20) { return }
        while true {
            let acted = try world.act()
            var ready = readiness()
            if !ready.isEmpty {
                ready.shuffle(using: &chance.generator)
                for one in ready.prefix(1 + chance.below(ready.count)) { try body(one) }
                return
            }
            if milliseconds == 0 { return }
            let mayPass = !acted || happens(oneIn: 30)
            if milliseconds > 0, mayPass {
                return time.advance(nanoseconds: UInt64(milliseconds) * 1_000_000)
            }
            if !acted { try world.noteQuiet() }
        }
    }

    /// What is ready, in the order in which the broker began to watch it.
    func readiness() -> [Readiness] {
        order.compactMap { fd in
            guard let watch = watches[fd] else { return nil }
            if let isReady = isReady(own: fd) { return isReady ? Self.readable(watch) : nil }
            guard let link = links[fd], !watch.interest.contains(.known) else { return nil }
            let canRead = watch.interest.contains(.read) && (!link.toBroker.isEmpty || link.hasEnded)
            let hasRoom = link.toClient.count < link.room || link.isClosedByClient
            let canWrite = watch.interest.contains(.write) && hasRoom
            guard canRead || canWrite || link.isClosedByClient else { return nil }
            return Readiness(
                token: watch.token, canRead: canRead, canWrite: canWrite, isGone: link.isClosedByClient
            )
        }
    }

    /// Whether something of the broker's own is ready; nil if it is no such thing.
    func isReady(own fd: Int32) -> Bool? {
        switch fd {
        case Self.listener: !waiting.isEmpty
        case ordersDescriptor:
            world.map { $0.hasPolicy || $0.hasJournalNews } == true
                || SystemCalls.wait(fd, for: Int32(POLLIN), milliseconds: 0) != 0
        default: nil
        }
    }

    private static func readable(_ watch: Watch) -> Readiness {
        Readiness(token: watch.token, canRead: true, canWrite: false, isGone: false)
    }
}

/// A pair of connected sockets.
final class SimulatedLink {
    /// How many bytes fit on the way to the client.
    var room: Int
    var toBroker = SimulatedPipe()
    var toClient = SimulatedPipe()
    /// Whether the client has ended its sending half.
    var isHalfClosed = false
    var isClosedByClient = false
    var isClosedByBroker = false
    /// Whether the client closed with unread bytes. The broker learns that once.
    var isReset = false
    let user: UInt32
    /// When the broker closed it.
    var closedAt: Int?
    /// How many bytes were sent to the client.
    var sent = 0
    /// From which byte on each policy was followed.
    private var policies: [(place: Int, policy: Int)] = []

    init(room: Int, user: UInt32) {
        self.room = room
        self.user = user
    }

    func notePolicy(_ policy: Int) {
        policies.append((sent, policy))
    }

    /// The policy that was followed when a byte was sent.
    func policy(at place: Int) -> Int {
        policies.last { $0.place <= place }?.policy ?? 0
    }

    /// Whether no more bytes will come to the broker than those on their way.
    var hasEnded: Bool { isHalfClosed || isClosedByClient }

    /// Closes the client's end without a goodbye.
    func close() {
        isClosedByClient = true
        isReset = !toClient.isEmpty
    }
}

/// Bytes on their way in one direction.
typealias SimulatedPipe = ArraySlice<UInt8>

extension SimulatedPipe {
    mutating func take(_ count: Int) -> [UInt8] {
        defer { removeFirst(count) }
        return Array(prefix(count))
    }
}

/// The only source of random choices.
final class Chance {
    var generator: SeededRandom

    init(seed: UInt64) {
        generator = SeededRandom(seed: seed)
    }

    func below(_ count: Int) -> Int { Int(generator.next() % UInt64(count)) }

    func isOne(in count: Int) -> Bool { below(count) == 0 }

    /// A part of `count`: often all, sometimes one, otherwise anything between, but never none.
    func part(of count: Int) -> Int {
        switch below(4) {
        case 0: 1
        case 1: 1 + below(count)
        default: count
        }
    }

    func pick<Element>(_ all: [Element]) -> Element { all[below(all.count)] }
}
