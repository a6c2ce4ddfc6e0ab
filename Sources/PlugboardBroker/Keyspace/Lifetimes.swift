// Bonds: which keys are deleted without a request, and when. Each bound key has one bond, and its extras
// keep its slot. The bonds of one connection form a chain in the order of their writes. Owned by the
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
    /// What goes with the same connection, where `while` was given, else `.none`; and the slots of its neighbours there.
    fileprivate var lease: LeaseHandle
    fileprivate var previous: UInt32
    fileprivate var next: UInt32 = 0

    fileprivate var deadline: DeadlineTicket? { ticket == .none ? nil : ticket }
}

struct Lifetimes: ~Copyable {
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

    /// Binds a key that isn't bound yet, and to a connection's end if one is given. Returns the bond's slot.
    mutating func bind(_ observable: ObservableHandle, to lease: LeaseHandle?) -> UInt32 {
        let previous = lease.map { leases[$0].last } ?? 0
        let bond = Bond(observable: observable, lease: lease ?? .none, previous: previous)
        let slot = bonds.insert(bond).slot
        if let lease {
            setNext(of: previous, to: slot, in: lease)
            leases[lease].last = slot
            leases[lease].count += 1
        }
        return slot
    }

    mutating func setDeadline(_ ticket: DeadlineTicket, ofBondIn slot: UInt32) {
        if let bond = bonds.handle(inSlot: slot) { bonds[bond].ticket = ticket }
    }

    /// Removes a bond. Returns its deadline, for the caller to cancel.
    mutating func unbind(_ slot: UInt32) -> DeadlineTicket? {
        guard let handle = bonds.handle(inSlot: slot) else { return nil }
        let bond = bonds.remove(handle)
        if bond.lease != .none {
            setNext(of: bond.previous, to: bond.next, in: bond.lease)
            setPrevious(of: bond.next, to: bond.previous, in: bond.lease)
            leases[bond.lease].count -= 1
        }
        return bond.deadline
    }

    func end(ofBondIn slot: UInt32) -> BondEnd? {
        guard let bond = bonds.handle(inSlot: slot) else { return nil }
        let lease = bonds[bond].lease
        guard lease != .none else { return (false, bonds[bond].deadline, nil, 0) }
        let grace = leases[lease].deadline
        return (true, bonds[bond].deadline, grace == .none ? nil : grace, leases[lease].grace)
    }

    /// Queues the bound keys of a connection that has ended. Returns its will, which isn't kept any more.
    @discardableResult
    mutating func end(_ lease: LeaseHandle) -> (write: Request, bytes: [UInt8])? {
        leases[lease].deadline = .none
        ended.append(lease)
        guard let will = leases[lease].will.take() else { return nil }
        return (will.write, will.bytes)
    }

    /// What an earlier connection left behind and that of a later one are one from now on, with the earlier keys first.
    /// All else is the later one's, if it has any. Returns the lease that has all, and how many bonds have another one than
    /// before: the fewer ones, so that this happens to none of them often, however often a program comes back.
    mutating func inherit(_ earlier: LeaseHandle, by later: LeaseHandle) -> (LeaseHandle, moved: Int) {
        let isEarlierLonger = leases[earlier].count > leases[later].count
        let (kept, gone) = isEarlierLonger ? (earlier, later) : (later, earlier)
        // Where many change, all are looked at in their order in memory: along a chain, each may have to be fetched.
        if Int(leases[gone].count) > bonds.count / 32 {
            for bond in bonds.handles where bonds[bond].lease == gone { bonds[bond].lease = kept }
        } else {
            var slot = leases[gone].first
            while let bond = bonds.handle(inSlot: slot) {
                bonds[bond].lease = kept
                slot = bonds[bond].next
            }
        }
        let (end, begin) = (leases[earlier].last, leases[later].first)
        setNext(of: end, to: begin, in: earlier)
        setPrevious(of: begin, to: end, in: later)
        var all = leases[later]
        all.first = leases[earlier].first
        all.count += leases[earlier].count
        all.will = all.will ?? leases[earlier].will
        leases[kept] = all
        return (kept, Int(leases.remove(gone).count))
    }

    /// The next key to delete because its connection has ended. Returns the same key until that is unbound.
    mutating func nextEnded() -> ObservableHandle? {
        while let lease = ended.first {
            if let bond = bonds.handle(inSlot: leases[lease].first) { return bonds[bond].observable }
            _ = leases.remove(lease)
            ended.removeFirst()
        }
        return nil
    }

    private mutating func setNext(of slot: UInt32, to next: UInt32, in lease: LeaseHandle) {
        if let bond = bonds.handle(inSlot: slot) {
            bonds[bond].next = next
        } else {
            leases[lease].first = next
        }
    }

    private mutating func setPrevious(of slot: UInt32, to previous: UInt32, in lease: LeaseHandle) {
        if let bond = bonds.handle(inSlot: slot) {
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
        try Self.always.agree("it is a client's, or has ended", leases.count, known.count)
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
        let isKnown = keyspace.extras(of: bond.observable).bond == handle.slot
        try Self.always.hold("a key knows its bond", isKnown, of: name)
        guard let ticket = bond.deadline else { return }
        let isTimed = deadlines.deadline(of: ticket) == .expiry(bond.observable)
        try Self.always.hold("the deadline of a bond is there", isTimed, of: name)
    }

    private func bondsInARow(of lease: LeaseHandle) throws(BrokenInvariant) -> Int {
        var (previous, slot, found) = (UInt32(0), leases[lease].first, 0)
        while let handle = bonds.handle(inSlot: slot) {
            let bond = bonds[handle]
            let isOfIt = bond.lease == lease && bond.previous == previous && found < bonds.count
            try Self.always.hold("a chain has the bonds of its connection", isOfIt, of: "bond \(slot)")
            found += 1
            (previous, slot) = (slot, bond.next)
        }
        try Self.always.agree("a chain ends with its last bond", leases[lease].last, previous)
        try Self.always.agree("it counts its bonds", Int(leases[lease].count), found)
        return found
    }
}

extension Deadlines {
    /// Appends what will end a value, and how much time is left. Appends nothing for most keys.
    func appendEnd(of bond: BondEnd?, to buffer: inout ByteBuffer) {
        guard let bond else { return }
        EventEncoder.appendEnd(
            isWhileConnected: bond.isWhileConnected,
            grace: millisecondsLeft(of: bond.grace),
            milliseconds: millisecondsLeft(of: bond.ticket),
            to: &buffer
        )
    }

    /// 0 if there is no deadline. What is over is still there until the next turn.
    func millisecondsLeft(of ticket: DeadlineTicket?) -> UInt64 {
        guard let ticket else { return 0 }
        return max(1, millisecondsLeft(of: ticket, at: now, roundedUp: true) ?? 0)
    }
}

// What a client leaves behind when its connection ends: a write that is made then, and bound keys that are
// deleted. Only clients that have either, or a grace, get one. Owned by `Lifetimes`. The session holds its handle
// until the connection ends.

typealias LeaseHandle = Handle<SessionLease>

struct SessionLease {
    /// The slots of its first and last bond in `Lifetimes`; 0 if there are none.
    fileprivate(set) var first: UInt32 = 0
    fileprivate(set) var last: UInt32 = 0
    /// How many bonds it has.
    fileprivate(set) var count: Int32 = 0
    /// The client's name, if that has a grace; and the grace in milliseconds.
    var name: ProgramName?
    var grace: UInt64 = 0
    /// Until when the client may come back; `.none` if it isn't gone.
    var deadline = DeadlineTicket.none
    /// The client that is gone, 0 for one of an earlier broker; and its groups.
    var client: UInt64 = 0
    var groups: [UInt32] = []
    var will: Will?
    var isEmpty: Bool { count == 0 && will == nil }
}

/// Counts for an account as long as it is kept.
final class Will {
    /// Its ranges are of `bytes`.
    let write: Request
    let bytes: [UInt8]
    let account: Account

    /// Throws unless the account has room for it instead of the will before.
    init(
        _ write: Request, in line: Span<UInt8>, of account: Account, insteadOf before: Will?
    ) throws(Refusal) {
        var copy = write
        var bytes: [UInt8] = []
        for part in [\Request.key, \.value, \.field] {
            let start = bytes.count
            bytes.append(write[keyPath: part].bytes(of: line))
            copy[keyPath: part] = ByteRange(start, bytes.count)
        }
        copy.originStart = bytes.count
        bytes.append(write.origin(of: line))
        try account.checkRoom(kept: bytes.count - (before?.bytes.count ?? 0))
        (self.write, self.bytes, self.account) = (copy, bytes, account)
        account.used.kept += bytes.count
    }

    deinit {
        account.used.kept -= bytes.count
    }
}
