// The subscriptions of one session: few as a rule, so a list; found by hash once
// they are many.

import PlugboardMemory

/// A session's subscriptions by their text.
struct SubscriptionSet: ~Copyable {
    private static let indexedFrom = 16
    private(set) var list = List<SubscriptionReference>()
    private var index: [SubscriptionTextReference: SubscriptionReference] = [:]
    /// No positive integer below this is free.
    private var lowestFree: UInt64 = 1

    init() {}

    @inline(__always) var isEmpty: Bool { list.isEmpty }
    @inline(__always) var count: Int { list.count }

    func find(_ text: SubscriptionTextReference) -> SubscriptionReference? {
        if count >= Self.indexedFrom { return index[text] }
        return list.elements.first { $0.pointee.text == text }
    }

    mutating func insert(_ subscription: SubscriptionReference) {
        subscription.pointee.place = Int32(list.count)
        list.append(subscription)
        if list.count == Self.indexedFrom {
            for member in list.elements { index[member.pointee.text] = member }
        } else if list.count > Self.indexedFrom {
            index[subscription.pointee.text] = subscription
        }
    }

    /// Removes it from the set; its memory is the caller's.
    mutating func remove(_ subscription: SubscriptionReference) {
        if list.count > Self.indexedFrom {
            index[subscription.pointee.text] = nil
        } else if list.count == Self.indexedFrom {
            index = [:]
        }
        let place = Int(subscription.pointee.place)
        list.removeSwapping(at: place)
        if place < list.count { list.elements[place].pointee.place = Int32(place) }
        noteFree(subscription.pointee.text.pointee.sub)
    }

    /// The smallest positive integer for which `isTaken` is false. No smaller one is asked
    /// about twice, so that many subscriptions are numbered in the time of a few.
    mutating func smallestFree(isTaken: (UInt64) -> Bool) -> UInt64 {
        while isTaken(lowestFree) { lowestFree += 1 }
        return lowestFree
    }

    private mutating func noteFree(_ sub: Span<UInt8>) {
        guard let number = UInt64(String(sub)), number > 0 else { return }
        lowestFree = min(lowestFree, number)
    }
}

extension SubscriptionSet {
    private static var always: Invariants { Invariants(of: "SubscriptionSet") }

    /// Each is its session's, knows its place, and is found by its text.
    func checkInvariants(of session: SessionReference) throws(BrokenInvariant) {
        var numbers = 0
        for place in 0..<list.count {
            let subscription = list.elements[place]
            let isItsOwn = subscription.pointee.session == session
            try Self.always.hold("a subscription is its session's", isItsOwn, of: "place \(place)")
            try Self.always.agree("a subscription knows its place", Int(subscription.pointee.place), place)
            if count < Self.indexedFrom { continue }
            let isFound = find(subscription.pointee.text) == subscription
            try Self.always.hold("a subscription is found by its text", isFound, of: "place \(place)")
        }
        try Self.always.agree("many are indexed", index.count, count < Self.indexedFrom ? 0 : count)
        guard lowestFree > 1 else { return }
        for subscription in list.elements {
            let number = UInt64(String(subscription.pointee.text.pointee.sub)) ?? 0
            if number > 0, number < lowestFree { numbers += 1 }
        }
        try Self.always.agree("no smaller number is free", UInt64(numbers), lowestFree - 1)
    }
}
