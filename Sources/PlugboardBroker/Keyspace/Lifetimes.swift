// Bonds: which keys are deleted without a request, and when. Each bound key has one bond, and the observable
// keeps its place. The bonds of one connection form a chain in the order of their writes. Owned by the
// keyspace.

import PlugboardMemory
import PlugboardWire

/// What ends a value without anybody deleting it.
struct Bond: BitwiseCopyable {
    let observable: ObservableHandle
    /// The revision of the write that bound the key.
    let revision: UInt64
    /// Its deadline, if the write had `ttl`.
    fileprivate var ticket: DeadlineTicket?
    /// What its connection leaves behind, if the write had `while`; and the neighbours in that chain.
    fileprivate var legacy: LegacyHandle?
    fileprivate var previous: Int32 = -1
    fileprivate var next: Int32 = -1

    init(observable: ObservableHandle, revision: UInt64) {
        self.observable = observable
        self.revision = revision
    }
}

/// All bonds.
struct Lifetimes: ~Copyable {
    /// When no bond is left, memory for more bonds than this is given back.
    private static let keptBondsMax = 4_096
    private var bonds = List<Bond>()
    /// What connections leave behind, open ones and ended ones.
    var legacies = Slab<Legacy>()
    private var free = List<Int32>()
    /// The queue of ended connections whose keys are still to be deleted.
    private var firstEnded: LegacyHandle?
    private var lastEnded: LegacyHandle?
    /// There is a deadline for deleting more of these keys.
    var isGoingOn = false

    init() {}

    /// How many keys are bound.
    var count: Int { bonds.count - free.count }

    /// Binds a key that isn't bound yet, and to a connection's end if one is given. Returns the bond's place.
    mutating func bind(
        _ observable: ObservableHandle,
        to legacy: LegacyHandle?,
        _ observables: inout ObservableTable
    ) -> Int {
        var bond = Bond(observable: observable, revision: observables[observable].revision)
        bond.legacy = legacy
        bond.previous = legacy.map { legacies[$0].last } ?? -1
        let place = put(bond)
        observables[observable].marks.bond = place
        if let legacy {
            setNext(of: bond.previous, to: Int32(place), in: legacy)
            legacies[legacy].last = Int32(place)
        }
        return place
    }

    /// Adds a deadline to a bond.
    mutating func note(_ ticket: DeadlineTicket, ofBondAt place: Int) {
        bonds[place].ticket = ticket
    }

    /// Removes the bond of a key, if there is one. Returns its deadline, for the caller to cancel.
    mutating func unbind(_ observable: ObservableHandle, _ observables: inout ObservableTable)
        -> DeadlineTicket?
    {
        guard let place = observables[observable].marks.bond else { return nil }
        observables[observable].marks.bond = nil
        let bond = bonds[place]
        if let legacy = bond.legacy {
            setNext(of: bond.previous, to: bond.next, in: legacy)
            setPrevious(of: bond.next, to: bond.previous, in: legacy)
        }
        remove(at: place)
        return bond.ticket
    }

    /// What will end a key's value; nil if nothing will.
    func bond(of marks: LifetimeMarks) -> (isWhileConnected: Bool, ticket: DeadlineTicket?)? {
        guard let place = marks.bond else { return nil }
        let bond = bonds[place]
        return (bond.legacy != nil, bond.ticket)
    }

    /// The key whose bond is at `place`, if that bond is still of this revision.
    func find(_ place: Int, revision: UInt64) -> ObservableHandle? {
        guard place < bonds.count, bonds[place].revision == revision else { return nil }
        return bonds[place].observable
    }

    /// Queues the bound keys of a connection that has ended.
    mutating func end(_ legacy: LegacyHandle) {
        if let lastEnded { legacies[lastEnded].next = legacy } else { firstEnded = legacy }
        lastEnded = legacy
    }

    /// The next key to delete because its connection has ended. Returns the same key until that is unbound.
    mutating func nextEnded() -> ObservableHandle? {
        while let legacy = firstEnded {
            let ended = legacies[legacy].first
            if ended >= 0 { return bonds[Int(ended)].observable }
            firstEnded = legacies[legacy].next
            if firstEnded == nil { lastEnded = nil }
            _ = legacies.remove(legacy)
        }
        return nil
    }

    private mutating func put(_ bond: Bond) -> Int {
        if let place = free.popLast() {
            bonds[Int(place)] = bond
            return Int(place)
        }
        bonds.append(bond)
        return bonds.count - 1
    }

    private mutating func remove(at place: Int) {
        // Real revisions begin with 1, so `find` never returns a removed bond.
        bonds[place] = Bond(observable: bonds[place].observable, revision: 0)
        free.append(Int32(place))
        if count == 0, bonds.count > Self.keptBondsMax {
            bonds.releaseMemory()
            free.releaseMemory()
        }
    }

    private mutating func setNext(of place: Int32, to next: Int32, in legacy: LegacyHandle) {
        if place >= 0 {
            bonds[Int(place)].next = next
        } else {
            legacies[legacy].first = next
        }
    }

    private mutating func setPrevious(of place: Int32, to previous: Int32, in legacy: LegacyHandle) {
        if place >= 0 {
            bonds[Int(place)].previous = previous
        } else {
            legacies[legacy].last = previous
        }
    }
}

extension Lifetimes {
    private static var always: Invariants { Invariants(of: "Lifetimes") }

    /// The key, the deadline and the connection of each bond agree with it. `owned` are the legacies of open
    /// connections.
    func checkInvariants(
        _ living: borrowing Living,
        _ deadlines: borrowing Deadlines,
        _ observables: borrowing ObservableTable,
        _ owned: [LegacyHandle]
    ) throws(BrokenInvariant) {
        var (used, chained) = (0, 0)
        for place in 0..<bonds.count where bonds[place].revision > 0 {
            used += 1
            if bonds[place].legacy != nil { chained += 1 }
            try keyKnowsItsBond(at: place, living, observables)
            try deadlineIsThere(ofBondAt: place, deadlines)
        }
        try Self.always.agree("a place is free or a bond's", count, used)
        var found = 0
        for legacy in owned { found += try bondsInARow(of: legacy) }
        var ended = firstEnded
        while let legacy = ended {
            found += try bondsInARow(of: legacy)
            ended = legacies[legacy].next
        }
        try Self.always.agree("bonds to a connection stand in its chain", chained, found)
    }

    /// How many keys have a deadline.
    var timedCount: Int { bonds.indices.count { bonds[$0].revision > 0 && bonds[$0].ticket != nil } }

    private func keyKnowsItsBond(
        at place: Int,
        _ living: borrowing Living,
        _ observables: borrowing ObservableTable
    ) throws(BrokenInvariant) {
        let bond = bonds[place]
        let isThere = living.observables.contains(bond.observable)
        try Self.always.hold("what is bound is there", isThere, of: "bond \(place)")
        let key = String(observables[bond.observable].key)
        let isKnown = observables[bond.observable].marks.bond == place
        try Self.always.hold("a key knows its bond", isKnown, of: key)
        let isOfValue = observables[bond.observable].revision == bond.revision
        try Self.always.hold("a bond is of the value that there is", isOfValue, of: key)
    }

    private func deadlineIsThere(
        ofBondAt place: Int,
        _ deadlines: borrowing Deadlines
    ) throws(BrokenInvariant) {
        let bond = bonds[place]
        guard let ticket = bond.ticket else { return }
        let isThere = deadlines.deadline(of: ticket) == .expiry(bond: place, revision: bond.revision)
        try Self.always.hold("the deadline of a bond is there", isThere, of: "bond \(place)")
    }

    /// Follows a connection's chain, and counts its bonds.
    private func bondsInARow(of legacy: LegacyHandle) throws(BrokenInvariant) -> Int {
        var (previous, place, found) = (Int32(-1), legacies[legacy].first, 0)
        while place >= 0 {
            let bond = bonds[Int(place)]
            let isOfIt = bond.legacy == legacy && bond.previous == previous && found < bonds.count
            try Self.always.hold("a chain has the bonds of its connection", isOfIt, of: "bond \(place)")
            found += 1
            (previous, place) = (place, bond.next)
        }
        try Self.always.agree("a chain ends with its last bond", legacies[legacy].last, previous)
        return found
    }
}

extension Deadlines {
    /// Appends what will end a value, and how much time is left. Appends nothing for most keys.
    func appendEnd(of bond: (isWhileConnected: Bool, ticket: DeadlineTicket?)?, to buffer: inout ByteBuffer) {
        guard let bond else { return }
        // An expired value is still there until the next turn.
        let left = bond.ticket.flatMap { time(of: $0) }.map { max(1, Self.milliseconds(from: now, to: $0)) }
        EventEncoder.appendEnd(isWhileConnected: bond.isWhileConnected, milliseconds: left ?? 0, to: &buffer)
    }
}
