// The text of a `sub`. All subscriptions of the bus with the same `sub` share it. Most are called 1, so their
// lines begin alike and are encoded once for all of them.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

typealias TextHandle = Handle<SubscriptionText>

/// The start of a subscription's events.
struct SubscriptionText: ~Copyable {
    fileprivate let hash: UInt64
    /// How many subscriptions have this text.
    fileprivate var subscriptionCount = 1
    /// Another text with the same hash, if there is one.
    fileprivate var nextTwin: TextHandle?
    /// `{"event":"update","sub":…`, ready to be copied.
    private let start: ByteBlock
    private static let subOffset = 24

    /// The event whose line for this text is in the turn's log, with its kind and its place there.
    var encodedEvent: UInt64 = 0
    var encodedKind = EventKind(rawValue: 0)
    var line = ByteRange.none

    fileprivate init(sub: Span<UInt8>, hash: UInt64) {
        self.hash = hash
        var buffer = ByteBuffer()
        EventEncoder.appendUpdateStart(sub: sub, to: &buffer)
        start = ByteBlock(buffer.bytes)
    }

    /// The start of an update's line.
    @inline(__always) var updateStart: Span<UInt8> {
        @_lifetime(immortal)
        get { start.kept }
    }

    /// The `sub` as JSON.
    var sub: Span<UInt8> {
        @_lifetime(immortal)
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
    /// The first text with a hash.
    private var byHash: [UInt64: TextHandle] = [:]
    private let hash = KeyHash()

    init() {}

    subscript(text: TextHandle) -> SubscriptionText {
        @inline(__always)
        _read { yield all[text] }
        @inline(__always)
        _modify { yield &all[text] }
    }

    /// The text for a `sub` given as JSON, if a subscription has it.
    func find(_ sub: Span<UInt8>) -> TextHandle? {
        var candidate = byHash[hash(sub)]
        while let text = candidate, !all[text].sub.isEqual(to: sub) { candidate = all[text].nextTwin }
        return candidate
    }

    /// The text for a `sub`, for one more subscription.
    mutating func add(_ sub: Span<UInt8>) -> TextHandle {
        if let text = find(sub) {
            all[text].subscriptionCount += 1
            return text
        }
        let key = hash(sub)
        let text = all.insert(SubscriptionText(sub: sub, hash: key))
        all[text].nextTwin = byHash.updateValue(text, forKey: key)
        return text
    }

    /// One subscription less has this text.
    mutating func remove(_ text: TextHandle) {
        all[text].subscriptionCount -= 1
        guard all[text].subscriptionCount == 0 else { return }
        unlink(text)
        _ = all.remove(text)
    }

    /// Gives back the memory of texts that are gone, as `Slab` does.
    mutating func shrink(visits: Int) -> Bool {
        if all.count == 0, byHash.capacity > 64 { byHash = [:] }
        return all.shrink(visits: visits, MemoryPages.giveBack)
    }

    private mutating func unlink(_ text: TextHandle) {
        guard let first = byHash[all[text].hash] else { return }
        if first == text {
            byHash[all[text].hash] = all[text].nextTwin
            return
        }
        var previous = first
        while let twin = all[previous].nextTwin, twin != text { previous = twin }
        all[previous].nextTwin = all[text].nextTwin
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
        for (hash, first) in byHash {
            var next: TextHandle? = first
            while let text = next {
                found += 1
                try Self.always.hold("a text that is found is there", all.contains(text))
                let sub = String(all[text].sub)
                let isAtHome = all[text].hash == hash && self.hash(all[text].sub) == hash
                try Self.always.hold("a text is found by its hash", isAtHome, of: sub)
                let (stated, count) = (all[text].subscriptionCount, users[text] ?? 0)
                try Self.always.agree("a text counts its subscriptions", stated, count, of: sub)
                next = all[text].nextTwin
            }
        }
        try Self.always.agree("each subscription's text is there", found, users.count)
    }
}
