// Bonds: which keys are deleted without a request, and when. Each bound key has one bond, and its extras
// keep its place. The bonds of one connection form a chain in the order of their writes. Owned by the
// keyspace.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// What ends a value: its writer's connection, a time, or the time within which that writer may come back.
/// The last number is the grace of that writer's name; 0 if it has none.
typealias BondEnd = (
    isWhileConnected: Bool, ticket: DeadlineTicket?, grace: DeadlineTicket?, milliseconds: UInt64
)

/// What ends a value without anybody deleting it. The handles are no optionals: of very many bonds those would
/// take up a third more.
struct Bond: BitwiseCopyable {
    let observable: ObservableHandle
    /// Its deadline, where `ttl` was given; else `.none`.
    fileprivate var ticket = DeadlineTicket.none
    /// What goes with the same connection, where `while` was given, else `.none`; and its neighbours there. It may be
    /// a part of another one since.
    fileprivate let lease: LeaseHandle
    fileprivate var previous: Int32
    fileprivate var next: Int32 = -1

    fileprivate var deadline: DeadlineTicket? { ticket == .none ? nil : ticket }
}

struct Lifetimes: ~Copyable {
    /// Each stands at its slot.
    private var bonds = Slab<Bond>()
    /// What connections leave behind, open ones and ended ones.
    var leases = Slab<SessionLease>()
    /// Those of connections that have ended, whose keys are still to be deleted.
    private var ended: ArraySlice<LeaseHandle> = []
    /// There is a deadline for deleting more of these keys.
    var isGoingOn = false

    var count: Int { bonds.count }

    /// Looks at `visits` places of bonds that may be gone; returns whether that was all.
    mutating func shrink(visits: Int) -> Bool { bonds.shrink(visits: visits, MemoryPages.giveBack) }

    /// Binds a key that isn't bound yet, and to a connection's end if one is given. Returns the bond's place.
    mutating func bind(_ observable: ObservableHandle, to lease: LeaseHandle?) -> Int {
        let previous = lease.map { leases[$0].last } ?? -1
        let bond = Bond(observable: observable, lease: lease ?? .none, previous: previous)
        let place = Int32(bonds.insert(bond).slot)
        if let lease {
            setNext(of: bond.previous, to: place, in: lease)
            leases[lease].last = place
            leases[lease].namings += 1
        }
        return Int(place)
    }

    mutating func setDeadline(_ ticket: DeadlineTicket, ofBondAt place: Int) {
        if let bond = bond(at: place) { bonds[bond].ticket = ticket }
    }

    /// Removes a bond. Returns its deadline, for the caller to cancel.
    mutating func unbind(at place: Int) -> DeadlineTicket? {
        guard let handle = bond(at: place) else { return nil }
        let bond = bonds.remove(handle)
        if bond.lease != .none {
            let whole = whole(of: bond.lease)
            setNext(of: bond.previous, to: bond.next, in: whole)
            setPrevious(of: bond.next, to: bond.previous, in: whole)
            endNaming(of: bond.lease)
        }
        return bond.deadline
    }

    func end(ofBondAt place: Int) -> BondEnd? {
        guard let bond = bond(at: place) else { return nil }
        let lease = bonds[bond].lease
        guard lease != .none else { return (false, bonds[bond].deadline, nil, 0) }
        let whole = whole(of: lease)
        let grace = leases[whole].deadline
        return (true, bonds[bond].deadline, grace == .none ? nil : grace, leases[whole].grace)
    }

    /// Queues the bound keys of a connection that has ended, and of those that it has taken over. Returns its will.
    @discardableResult
    mutating func end(_ lease: LeaseHandle) -> Will? {
        leases[lease].deadline = .none
        ended.append(lease)
        return leases[lease].will.take()
    }

    /// What an earlier connection left behind and that of a later one are one from now on, with the earlier keys first.
    /// Of two wills, the later one counts. Returns the lease that has all. The other one becomes a part of it as long
    /// as keys name it. It is the one with fewer steps below it, so that few steps lead from any part to the whole,
    /// however many there were.
    mutating func inherit(_ earlier: LeaseHandle, by later: LeaseHandle) -> LeaseHandle {
        let isEarlierDeep = leases[earlier].depth > leases[later].depth
        let (whole, part) = isEarlierDeep ? (earlier, later) : (later, earlier)
        let will = leases[leases[later].willBytes > 0 ? later : earlier].will.take()
        let (end, begin) = (leases[earlier].last, leases[later].first)
        let (first, last) = (leases[earlier].first, leases[later].last)
        (leases[whole].first, leases[whole].last) = (first, last)
        setNext(of: end, to: begin, in: whole)
        setPrevious(of: begin, to: end, in: whole)
        leases[whole].will = will
        let (namings, depth) = (leases[part].namings, leases[part].depth)
        if namings == 0 {
            _ = leases.remove(part)
        } else {
            // It keeps only those that name it.
            leases[part] = SessionLease()
            (leases[part].whole, leases[part].namings, leases[part].depth) = (whole, namings, depth)
            leases[whole].namings += 1
            leases[whole].depth = max(leases[whole].depth, depth + 1)
        }
        return whole
    }

    mutating func setDeadline(_ deadline: DeadlineTicket, grace: UInt64, of lease: LeaseHandle) {
        (leases[lease].deadline, leases[lease].grace) = (deadline, grace)
    }

    /// What a lease is a part of; itself if it is no part.
    private func whole(of lease: LeaseHandle) -> LeaseHandle {
        var whole = lease
        while let next = leases[whole].whole { whole = next }
        return whole
    }

    /// A bond or a part names a lease no more. A part that nothing names goes.
    private mutating func endNaming(of lease: LeaseHandle) {
        var named = lease
        leases[named].namings -= 1
        while leases[named].namings == 0, let whole = leases[named].whole {
            _ = leases.remove(named)
            named = whole
            leases[named].namings -= 1
        }
    }

    /// The next key to delete because its connection has ended. Returns the same key until that is unbound.
    mutating func nextEnded() -> ObservableHandle? {
        while let lease = ended.first {
            if let bond = bond(at: Int(leases[lease].first)) { return bonds[bond].observable }
            _ = leases.remove(lease)
            ended.removeFirst()
        }
        return nil
    }

    private func bond(at place: Int) -> Handle<Bond>? {
        place < 0 ? nil : bonds.handle(inSlot: UInt32(place))
    }

    private mutating func setNext(of place: Int32, to next: Int32, in lease: LeaseHandle) {
        if let bond = bond(at: Int(place)) {
            bonds[bond].next = next
        } else {
            leases[lease].first = next
        }
    }

    private mutating func setPrevious(of place: Int32, to previous: Int32, in lease: LeaseHandle) {
        if let bond = bond(at: Int(place)) {
            bonds[bond].previous = previous
        } else {
            leases[lease].last = previous
        }
    }
}

extension Lifetimes: Checked {
    /// `owned` are the leases of open connections.
    func checkInvariants(
        _ deadlines: borrowing Deadlines,
        _ keyspace: borrowing Keyspace,
        _ owned: [LeaseHandle]
    ) throws(BrokenInvariant) {
        var chained = 0
        try bonds.forEach { (bond) throws(BrokenInvariant) in
            if bonds[bond].lease != .none { chained += 1 }
            try isWhatItSays(bond, keyspace, deadlines)
        }
        let known = owned + ended
        var found = 0
        for lease in known { found += try bondsInARow(of: lease) }
        try Self.always.agree("bonds to a connection stand in its chain", chained, found)
        let count = known.count + (try partCount(chained))
        try Self.always.agree("it is a client's, or a part, or has ended", leases.count, count)
    }

    var timedCount: Int {
        var count = 0
        bonds.forEach { if bonds[$0].ticket != .none { count += 1 } }
        return count
    }

    private func isWhatItSays(
        _ handle: Handle<Bond>, _ keyspace: borrowing Keyspace, _ deadlines: borrowing Deadlines
    ) throws(BrokenInvariant) {
        let (bond, name) = (bonds[handle], "bond \(handle.slot)")
        try Self.always.hold("what is bound is there", keyspace.contains(bond.observable), of: name)
        let isKnown = keyspace.extras(of: bond.observable).bond == Int(handle.slot)
        try Self.always.hold("a key knows its bond", isKnown, of: name)
        guard let ticket = bond.deadline else { return }
        let isTimed = deadlines.deadline(of: ticket) == .expiry(bond.observable)
        try Self.always.hold("the deadline of a bond is there", isTimed, of: name)
    }

    /// How many leases are parts of others. Each is named by a bond or a part, and so few steps lead to the whole that
    /// a number of them with 32 bits couldn't make more.
    private func partCount(_ bonds: Int) throws(BrokenInvariant) -> Int {
        var (parts, namings) = (0, 0)
        try leases.forEach { (lease) throws(BrokenInvariant) in
            namings += Int(leases[lease].namings)
            guard let whole = leases[lease].whole else { return }
            parts += 1
            let isAbove = leases[lease].depth < leases[whole].depth && leases[whole].depth <= 32
            let isPart = leases[lease].namings > 0 && leases[lease].first < 0 && isAbove
            try Self.always.hold("a part is named, and near its whole", isPart, of: "part \(lease.slot)")
        }
        try Self.always.agree("it counts what names a lease", bonds + parts, namings)
        return parts
    }

    private func bondsInARow(of lease: LeaseHandle) throws(BrokenInvariant) -> Int {
        var (previous, place, found) = (Int32(-1), leases[lease].first, 0)
        while let handle = bond(at: Int(place)) {
            let bond = bonds[handle]
            let isOfIt =
                whole(of: bond.lease) == lease && bond.previous == previous && found < bonds.count
            try Self.always.hold("a chain has the bonds of its connection", isOfIt, of: "bond \(place)")
            found += 1
            (previous, place) = (place, bond.next)
        }
        try Self.always.agree("a chain ends with its last bond", leases[lease].last, previous)
        return found
    }
}

extension Deadlines {
    /// Appends what will end a value, and how much time is left. Appends nothing for most keys.
    func appendEnd(of bond: BondEnd?, to buffer: inout ByteBuffer) {
        guard let bond else { return }
        // An expired value is still there until the next turn.
        let left = bond.ticket.flatMap { millisecondsLeft(of: $0, at: now, roundedUp: true) }
        let milliseconds = left.map { max(1, $0) } ?? 0
        EventEncoder.appendEnd(
            isWhileConnected: bond.isWhileConnected,
            grace: graceLeft(of: bond),
            milliseconds: milliseconds,
            to: &buffer
        )
    }

    /// How many milliseconds the writer of a value has to come back; 0 if it isn't waited for.
    func graceLeft(of end: BondEnd?) -> UInt64 {
        guard let grace = end?.grace else { return 0 }
        return max(1, millisecondsLeft(of: grace, at: now, roundedUp: true) ?? 0)
    }
}

// What a client leaves behind when its connection ends: a write that is made then, and bound keys that are
// deleted. Only clients that have either get one. Owned by `Lifetimes`. The session holds its handle until
// the connection ends.

typealias LeaseHandle = Handle<SessionLease>

struct SessionLease {
    /// The places of its first and last bond in `Lifetimes`; negative if there are none.
    var first: Int32 = -1
    var last: Int32 = -1
    /// That of another connection under the same name, of which this one is a part.
    fileprivate(set) var whole: LeaseHandle?
    /// How many bonds name this one, and how many parts; and how many steps lead to it at most.
    var namings: Int32 = 0
    var depth: UInt8 = 0
    /// Until when the client may come back; `.none` if it isn't gone.
    var deadline = DeadlineTicket.none
    /// The grace of its name in milliseconds; 0 if it has none.
    var grace: UInt64 = 0
    var will: Will?
    var isEmpty: Bool { first < 0 && will == nil }

    var willBytes: Int { will?.bytes.count ?? 0 }
}

struct Will {
    /// Its ranges are of `bytes`.
    let write: Request
    let bytes: [UInt8]

    init(_ write: Request, in line: Span<UInt8>) {
        var copy = write
        var bytes: [UInt8] = []
        for part in [\Request.key, \.value, \.field] {
            let start = bytes.count
            bytes.append(write[keyPath: part].bytes(of: line))
            copy[keyPath: part] = ByteRange(start, bytes.count)
        }
        copy.originStart = bytes.count
        bytes.append(write.origin(of: line))
        self.write = copy
        self.bytes = bytes
    }
}
