// When the hub has something to do by itself: a binary heap with the earliest deadline first, and those of
// one moment in the order in which they were added; and their clock. Owned by the hub. A deadline names its
// subject by a number or a handle, because some subjects may be gone when it falls due.

import PlugboardJournal
import PlugboardMemory
import PlugboardPosix

enum Deadline: BitwiseCopyable, Equatable {
    /// The value of this key has expired. It exists: another write cancels the deadline.
    case expiry(ObservableHandle)
    /// Keys of ended connections are still to be deleted.
    case ended
    /// The client that left this behind hasn't come back. It exists: taking it over cancels the deadline.
    case grace(LeaseHandle)
    /// A call has waited long enough for its answer.
    case call(UInt64)
    /// The subscription may be told of a key again. It exists: its deadline ends with its window.
    case window(SubscriptionHandle)
    /// The tracer has rested long enough. It exists: its deadline ends with it.
    case trace(SubscriptionHandle)
    /// The values that the broker publishes about itself are brought up to date.
    case ownState
    /// A plugin may have been idle for long enough.
    case idle
    /// The gate of this key has waited long enough. It exists: opening it cancels the deadline.
    case gate(ObservableHandle)
    /// The client has written more than its share, and has waited for another one. It exists: its deadline ends with its
    /// connection.
    case share(SessionHandle)

    /// Whether it is the loop's, and not the hub's.
    var isLoops: Bool { if case .share = self { true } else { false } }
}

/// Names a deadline, so that it can be cancelled. Never mistaken for a later one.
typealias DeadlineTicket = Handle<Deadlines.Slot>

/// All deadlines. Times are nanoseconds of the monotonic clock.
struct Deadlines: ~Copyable {
    /// How many deadlines are handled in one turn. After so many, clients are served first.
    static let firedPerTurnMax = 128
    /// Room for so many is kept in any case.
    private static let keptEntriesMax = 4_096

    private struct Entry: BitwiseCopyable {
        let at: UInt64
        let order: UInt64
        let slot: DeadlineTicket

        func precedes(_ other: Entry) -> Bool {
            at != other.at ? at < other.at : order < other.order
        }
    }

    struct Slot: BitwiseCopyable {
        let deadline: Deadline
        var place: Int32
    }

    let clock: TimeSource
    /// Names the machine's present start; empty if that isn't known.
    var boot = ""
    private var heap = List<Entry>()
    private var slots = Slab<Slot>()
    /// Deadlines beyond the last nanosecond that the clock can count. They never fall due, but say how far off
    /// they are. Nearly always there are none.
    private var remote: [DeadlineTicket: (start: UInt64, milliseconds: UInt64)] = [:]
    /// Deadlines that have fallen due, but could do nothing yet. They are tried again later.
    private var overdue: Set<DeadlineTicket> = []
    private var lastOrder: UInt64 = 0
    private(set) var lastMoment: UInt64 = 0

    init(clock: TimeSource = .system) {
        self.clock = clock
    }

    /// The time in monotonic nanoseconds; never before `lastMoment`.
    var now: UInt64 { max(clock.nanoseconds(), lastMoment) }

    /// The time of day, in milliseconds since 1970. It may be set back.
    var timeOfDay: UInt64 { clock.millisecondsSince1970() }

    /// The end of a value that is left so many milliseconds, as the journal keeps it.
    func end(in milliseconds: UInt64) -> EndSinceBoot? { EndSinceBoot(in: milliseconds, boot: boot, clock) }

    /// How many milliseconds are left until such an end; nil if the machine was started anew since.
    func left(until end: EndSinceBoot) -> UInt64? { end.left(boot: boot, clock) }

    var count: Int { heap.count }

    @inline(__always) var next: UInt64? { heap.first?.at }

    /// Adds a deadline. It falls due once, unless it is cancelled.
    @discardableResult
    mutating func add(at time: UInt64, _ deadline: Deadline) -> DeadlineTicket {
        lastOrder += 1
        let place = heap.count
        let slot = slots.insert(Slot(deadline: deadline, place: Int32(place)))
        heap.append(Entry(at: time, order: lastOrder, slot: slot))
        siftUp(from: place)
        return slot
    }

    mutating func add(after milliseconds: UInt64, _ deadline: Deadline) -> DeadlineTicket {
        let start = now
        let (nanoseconds, isTooLong) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
        let (time, isTooLate) = start.addingReportingOverflow(nanoseconds)
        guard isTooLong || isTooLate else { return add(at: time, deadline) }
        let ticket = add(at: .max, deadline)
        remote[ticket] = (start, milliseconds)
        return ticket
    }

    /// Adds again one that has fallen due, to try what it couldn't do.
    mutating func retry(_ deadline: Deadline, at time: UInt64) -> DeadlineTicket {
        let ticket = add(at: time, deadline)
        overdue.insert(ticket)
        return ticket
    }

    /// Cancels a deadline, unless it has fallen due or was cancelled already.
    mutating func cancel(_ ticket: DeadlineTicket) {
        if slots.contains(ticket) { remove(at: Int(slots[ticket].place)) }
    }

    /// The time of a deadline; nil if it has fallen due or was cancelled. That of one that is overdue is long past.
    private func time(of ticket: DeadlineTicket) -> UInt64? {
        if !overdue.isEmpty, overdue.contains(ticket) { return 0 }
        return slots.contains(ticket) ? heap[Int(slots[ticket].place)].at : nil
    }

    /// How many milliseconds are left until a deadline at a moment, rounded up or down; nil if it has fallen due or
    /// was cancelled.
    func millisecondsLeft(of ticket: DeadlineTicket, at moment: UInt64, roundedUp: Bool) -> UInt64? {
        guard let time = time(of: ticket) else { return nil }
        if let remote = remote[ticket] {
            let past = Self.milliseconds(from: remote.start, to: moment, roundedUp: !roundedUp)
            return remote.milliseconds - min(past, remote.milliseconds)
        }
        return Self.milliseconds(from: moment, to: time, roundedUp: roundedUp)
    }

    /// Whether what ends a value is a time, and that is over; with very many that end at once, the value may be
    /// there for some turns after it.
    func isOver(_ bond: BondEnd?) -> Bool {
        guard let ticket = bond?.ticket, let end = time(of: ticket) else { return false }
        return end <= now
    }

    /// Some are to be handled now, or were to be before.
    var areLate: Bool { !overdue.isEmpty || heap.first.map { $0.at <= now } ?? false }

    mutating func begin(at now: UInt64) { lastMoment = max(lastMoment, now) }

    mutating func popDue(at now: UInt64) -> Deadline? {
        guard let first = heap.first, first.at <= now else { return nil }
        let deadline = slots[first.slot].deadline
        remove(at: 0)
        return deadline
    }

    /// The milliseconds between two moments; 0 if the second isn't later.
    private static func milliseconds(from start: UInt64, to end: UInt64, roundedUp: Bool) -> UInt64 {
        guard end > start else { return 0 }
        let (whole, rest) = (end - start).quotientAndRemainder(dividingBy: 1_000_000)
        return whole + (roundedUp && rest > 0 ? 1 : 0)
    }

    /// How long to wait for a moment, in milliseconds, rounded up. If the wait were too short, the loop would
    /// wait again and again.
    static func milliseconds(from now: UInt64, until time: UInt64) -> Int32 {
        Int32(clamping: milliseconds(from: now, to: time, roundedUp: true))
    }

    /// Gives back what was taken up by deadlines that are over. Looks at `visits` of their places; returns
    /// whether that was all.
    mutating func shrink(visits: Int) -> Bool {
        let isShort = slots.shrink(visits: visits, MemoryPages.giveBack)
        return heap.shrink(by: visits, keeping: Self.keptEntriesMax) && isShort
    }

    private mutating func remove(at place: Int) {
        let slot = heap[place].slot
        _ = slots.remove(slot)
        if !remote.isEmpty { remote[slot] = nil }
        if !overdue.isEmpty { overdue.remove(slot) }
        guard let last = heap.popLast(), place < heap.count else { return }
        put(last, at: place)
        siftUp(from: place)
        siftDown(from: place)
    }

    private mutating func siftUp(from start: Int) {
        var place = start
        let entry = heap[place]
        while place > 0 {
            let parent = (place - 1) / 2
            guard entry.precedes(heap[parent]) else { break }
            put(heap[parent], at: place)
            place = parent
        }
        put(entry, at: place)
    }

    private mutating func siftDown(from start: Int) {
        var place = start
        let entry = heap[place]
        while true {
            var child = place * 2 + 1
            guard child < heap.count else { break }
            let right = child + 1
            if right < heap.count, heap[right].precedes(heap[child]) { child = right }
            guard heap[child].precedes(entry) else { break }
            put(heap[child], at: place)
            place = child
        }
        put(entry, at: place)
    }

    private mutating func put(_ entry: Entry, at place: Int) {
        heap[place] = entry
        slots[entry.slot].place = Int32(place)
    }
}

extension Deadlines: Checked {
    func deadline(of ticket: DeadlineTicket) -> Deadline? {
        slots.contains(ticket) ? slots[ticket].deadline : nil
    }

    var all: [Deadline] { heap.all.map { slots[$0.slot].deadline } }

    func checkInvariants() throws(BrokenInvariant) {
        for place in 0..<heap.count {
            let entry = heap[place]
            let isKnown = slots.contains(entry.slot) && slots[entry.slot].place == Int32(place)
            try Self.always.hold("a slot knows its entry", isKnown, of: "place \(place)")
            let isLater = place == 0 || !entry.precedes(heap[(place - 1) / 2])
            try Self.always.hold("none comes before what falls due sooner", isLater, of: "place \(place)")
        }
        try Self.always.agree("each slot has an entry", slots.count, heap.count)
        let areThere = remote.keys.allSatisfy { time(of: $0) == .max }
        try Self.always.hold("what is too far off never falls due", areThere)
    }
}

// A sign of life from the loop. A loop that hangs gives none.

/// Something that is done at an interval.
public struct Heartbeat: Sendable {
    let nanoseconds: UInt64
    private let beat: @Sendable () -> Void
    private(set) var next: UInt64 = 0

    public init(nanoseconds: UInt64, beat: @escaping @Sendable () -> Void) {
        self.nanoseconds = nanoseconds
        self.beat = beat
    }

    mutating func turn(at now: UInt64) {
        guard now >= next else { return }
        next = now + nanoseconds
        beat()
    }
}
