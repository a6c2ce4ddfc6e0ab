// The text of a `sub`. All subscriptions of the bus with the same `sub` share it. Most are called 1, so their
// lines begin alike and are encoded once for all of them.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

typealias TextHandle = Handle<SubscriptionText>

/// The start of a subscription's events.
struct SubscriptionText: ~Copyable {
    /// How many subscriptions have this text.
    fileprivate var subscriptionCount = 1
    /// `{"event":"update","sub":…`, ready to be copied.
    private let start: ByteBlock
    private static let subOffset = 24

    /// The event whose line for this text is in the turn's log, with its kind and its place there.
    var encodedEvent: UInt64 = 0
    var encodedKind = EventKind(rawValue: 0)
    var line = ByteRange.none

    fileprivate init(sub: Span<UInt8>) {
        var buffer = ByteBuffer()
        EventEncoder.appendUpdateStart(sub: sub, to: &buffer)
        start = ByteBlock(buffer.bytes)
    }

    /// The start of an update's line.
    @inline(__always) var updateStart: Span<UInt8> {
        @_lifetime(borrow self)
        get { start.bytes }
    }

    /// The `sub` as JSON.
    var sub: Span<UInt8> {
        @_lifetime(borrow self)
        get { Self.sub(in: updateStart) }
    }

    /// The `sub` in the start of an update's line.
    @inline(__always)
    @_lifetime(copy updateStart)
    static func sub(in updateStart: Span<UInt8>) -> Span<UInt8> { updateStart[subOffset...] }
}

/// All texts in use. Owns them.
struct SubscriptionTexts: ~Copyable {
    private var all = Slab<SubscriptionText>()
    private var index = HashIndex()
    private let hash = KeyHash()

    init() {}

    subscript(text: TextHandle) -> SubscriptionText {
        @inline(__always)
        _read { yield all[text] }
        @inline(__always)
        _modify { yield &all[text] }
    }

    /// The `sub` of a text, as JSON.
    @_lifetime(borrow self)
    func sub(of text: TextHandle) -> Span<UInt8> { all[text].sub }

    /// The text for a `sub` given as JSON, if a subscription has it.
    func find(_ sub: Span<UInt8>) -> TextHandle? { find(sub, hash(sub)) }

    private func find(_ sub: Span<UInt8>, _ hash: UInt64) -> TextHandle? {
        var search = index.search(hash)
        while let slot = index.next(&search) {
            if let text = all.handle(inSlot: slot), all[text].sub.isEqual(to: sub) { return text }
        }
        return nil
    }

    /// The text for a `sub`, for one more subscription.
    mutating func add(_ sub: Span<UInt8>) -> TextHandle {
        let hash = hash(sub)
        if let text = find(sub, hash) {
            all[text].subscriptionCount += 1
            return text
        }
        let text = all.insert(SubscriptionText(sub: sub))
        index.insert(hash, text.slot)
        return text
    }

    /// One subscription less has this text.
    mutating func remove(_ text: TextHandle) {
        all[text].subscriptionCount -= 1
        guard all[text].subscriptionCount == 0 else { return }
        index.remove(hash(all[text].sub), text.slot)
        _ = all.remove(text)
    }

    /// Gives back the memory of texts that are gone, as `Slab` does.
    mutating func shrink(visits: Int) -> Bool {
        let isDone = index.shrink(visits: visits)
        return all.shrink(visits: visits, MemoryPages.giveBack) && isDone
    }
}

extension SubscriptionTexts {
    private static var always: Invariants { Invariants(of: "SubscriptionTexts") }

    /// Each text counts its subscriptions.
    func checkInvariants(
        _ living: borrowing Living,
        _ matching: borrowing Matching
    ) throws(BrokenInvariant) {
        var users: [TextHandle: Int] = [:]
        for subscription in living.subscriptions { users[matching[subscription].text, default: 0] += 1 }
        var found = 0
        try index.forEach { slot, hash throws(BrokenInvariant) in
            let text = all.handle(inSlot: slot) ?? .none
            try Self.always.hold("a text that is found is there", text != .none)
            let sub = String(all[text].sub)
            let isAtHome = UInt32(truncatingIfNeeded: self.hash(all[text].sub)) == hash
            try Self.always.hold("a text is found by its hash", isAtHome, of: sub)
            let (stated, count) = (all[text].subscriptionCount, users[text] ?? 0)
            try Self.always.agree("a text counts its subscriptions", stated, count, of: sub)
            found += 1
        }
        try Self.always.hold("the index is sound", index.isSound)
        try Self.always.agree("each subscription's text is there", found, users.count)
    }
}
