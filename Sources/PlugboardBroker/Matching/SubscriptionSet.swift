// The subscriptions of one session: a list, because there are usually few. Many are found by hash.

import PlugboardMemory

/// A session's subscriptions by their text.
struct SubscriptionSet: ~Copyable {
    private static let indexedFrom = 16
    private(set) var list = List<SubscriptionHandle>()
    /// Those of many by their text. Few sessions have one.
    private var index: SubscriptionIndex?
    /// All positive integers below this are taken.
    private(set) var lowestFree: UInt64 = 1

    init() {}

    @inline(__always) var isEmpty: Bool { list.isEmpty }
    @inline(__always) var count: Int { list.count }

    func find(_ text: TextHandle, _ matching: borrowing Matching) -> SubscriptionHandle? {
        if let index { return index.find(text, matching) }
        for place in list.indices where matching[list[place]].text == text { return list[place] }
        return nil
    }

    mutating func insert(_ subscription: SubscriptionHandle, _ matching: inout Matching) {
        matching[subscription].place = Int32(list.count)
        list.append(subscription)
        if let index { return index.insert(subscription, matching) }
        guard list.count == Self.indexedFrom else { return }
        let index = SubscriptionIndex()
        for place in list.indices { index.insert(list[place], matching) }
        self.index = index
    }

    /// Removes it from the set. The caller does the rest.
    mutating func remove(_ subscription: SubscriptionHandle, _ matching: inout Matching) {
        index?.remove(subscription, matching)
        let place = Int(matching[subscription].place)
        list.removeSwapping(at: place)
        if place < list.count { matching[list[place]].place = Int32(place) }
        if list.count < Self.indexedFrom { index = nil }
        noteFree(matching.sub(of: subscription))
    }

    /// Remembers that a number is taken, so that smaller ones aren't tried again. This keeps the numbering of
    /// many subscriptions fast.
    mutating func noteTaken(_ number: UInt64) {
        lowestFree = max(lowestFree, number + 1)
    }

    private mutating func noteFree(_ sub: Span<UInt8>) {
        guard let number = UInt64(String(sub)), number > 0 else { return }
        lowestFree = min(lowestFree, number)
    }
}

/// Finds the subscriptions of a session that has many.
private final class SubscriptionIndex {
    private var slots = HashIndex()

    private static func hash(_ text: TextHandle) -> UInt64 { (text.word &* 0x9E37_79B9_7F4A_7C15) >> 32 }

    var count: Int { slots.count }

    func find(_ text: TextHandle, _ matching: borrowing Matching) -> SubscriptionHandle? {
        var search = slots.search(Self.hash(text))
        while let slot = slots.next(&search) {
            if let found = matching.subscription(inSlot: slot), matching[found].text == text { return found }
        }
        return nil
    }

    func insert(_ subscription: SubscriptionHandle, _ matching: borrowing Matching) {
        slots.insert(Self.hash(matching[subscription].text), subscription.slot)
    }

    func remove(_ subscription: SubscriptionHandle, _ matching: borrowing Matching) {
        slots.remove(Self.hash(matching[subscription].text), subscription.slot)
    }
}

extension SubscriptionSet {
    private static var always: Invariants { Invariants(of: "SubscriptionSet") }

    /// Each subscription belongs to the session, knows its place, and is found by its text.
    func checkInvariants(of session: SessionHandle, _ matching: borrowing Matching) throws(BrokenInvariant) {
        var numbers = 0
        for place in 0..<list.count {
            let subscription = list[place]
            let isItsOwn = matching[subscription].session == session
            try Self.always.hold("a subscription is its session's", isItsOwn, of: "place \(place)")
            try Self.always.agree(
                "a subscription knows its place",
                Int(matching[subscription].place),
                place
            )
            if count < Self.indexedFrom { continue }
            let isFound = find(matching[subscription].text, matching) == subscription
            try Self.always.hold("a subscription is found by its text", isFound, of: "place \(place)")
        }
        try Self.always.agree("many are indexed", index?.count ?? 0, count < Self.indexedFrom ? 0 : count)
        guard lowestFree > 1 else { return }
        for place in list.indices {
            let subscription = list[place]
            let number = UInt64(String(matching.sub(of: subscription))) ?? 0
            if number > 0, number < lowestFree { numbers += 1 }
        }
        try Self.always.agree("no smaller number is free", UInt64(numbers), lowestFree - 1)
    }
}
