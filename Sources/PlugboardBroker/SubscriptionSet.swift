// The subscriptions of one session: few as a rule, so a list; found by hash once
// they are many.

import PlugboardWire

/// A session's subscriptions by their `sub`.
struct SubscriptionSet: ~Copyable {
    private static let indexedFrom = 16
    private(set) var list = List<SubscriptionReference>()
    private var index: [UInt64: SubscriptionReference] = [:]
    /// No positive integer below this is free.
    private var lowestFree: UInt64 = 1

    init() {}

    @inline(__always) var isEmpty: Bool { list.isEmpty }
    @inline(__always) var count: Int { list.count }

    /// The subscription with this `sub` (as JSON) and its identity hash.
    func find(_ sub: UnsafeRawBufferPointer, identity: UInt64) -> SubscriptionReference? {
        if count < Self.indexedFrom {
            return list.elements.first {
                $0.pointee.identity == identity && $0.pointee.sub.elementsEqual(sub)
            }
        }
        var candidate = index[identity]
        while let twin = candidate, !twin.pointee.sub.elementsEqual(sub) { candidate = twin.pointee.nextTwin }
        return candidate
    }

    mutating func insert(_ subscription: SubscriptionReference) {
        subscription.pointee.place = list.count
        list.append(subscription)
        if list.count == Self.indexedFrom {
            for member in list.elements { addToIndex(member) }
        } else if list.count > Self.indexedFrom {
            addToIndex(subscription)
        }
    }

    /// Removes it from the set; its memory is the caller's.
    mutating func remove(_ subscription: SubscriptionReference) {
        if list.count >= Self.indexedFrom { removeFromIndex(subscription) }
        let place = subscription.pointee.place
        list.removeSwapping(at: place)
        if place < list.count { list.elements[place].pointee.place = place }
        if list.count == Self.indexedFrom - 1 { clearIndex() }
        noteFree(subscription.pointee.sub)
    }

    /// The smallest positive integer that is no `sub` here. `identity` hashes its digits.
    mutating func smallestFree(identity: (UnsafeRawBufferPointer) -> UInt64) -> UInt64 {
        var digits = ByteBuffer()
        while true {
            digits.removeAll()
            digits.append(decimal: lowestFree)
            if find(digits.bytes, identity: identity(digits.bytes)) == nil { return lowestFree }
            lowestFree += 1
        }
    }

    private mutating func noteFree(_ sub: UnsafeRawBufferPointer) {
        guard let number = UInt64(String(decoding: sub, as: UTF8.self)), number > 0 else { return }
        lowestFree = min(lowestFree, number)
    }

    private mutating func addToIndex(_ subscription: SubscriptionReference) {
        subscription.pointee.nextTwin = index[subscription.pointee.identity]
        index[subscription.pointee.identity] = subscription
    }

    private mutating func removeFromIndex(_ subscription: SubscriptionReference) {
        let identity = subscription.pointee.identity
        if index[identity] == subscription {
            index[identity] = subscription.pointee.nextTwin
            return
        }
        var previous = index[identity]
        while let twin = previous, twin.pointee.nextTwin != subscription { previous = twin.pointee.nextTwin }
        previous?.pointee.nextTwin = subscription.pointee.nextTwin
    }

    private mutating func clearIndex() {
        for member in list.elements { member.pointee.nextTwin = nil }
        index = [:]
    }
}
