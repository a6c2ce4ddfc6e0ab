// The text of a `sub`, one for all subscriptions of the bus that are called the same:
// most are called 1, and lines that begin the same are encoded once for all of them.

import PlugboardMemory
import PlugboardWire

typealias SubscriptionTextReference = UnsafeMutablePointer<SubscriptionText>

/// What the events of a subscription begin with.
struct SubscriptionText: ~Copyable {
    fileprivate let hash: UInt64
    fileprivate var references = 1
    /// Another text with the same hash, if ever.
    fileprivate var nextTwin: SubscriptionTextReference?
    /// `{"event":"update","sub":…`, ready to be copied.
    private let start: UnsafeMutableRawBufferPointer
    private static let subOffset = 24

    /// The event whose line for this text stands in the turn's log, and where.
    var encodedEvent: UInt64 = 0
    var encodedKind = EventKind(rawValue: 0)
    var line = ByteRange.none

    fileprivate init(sub: Span<UInt8>, hash: UInt64) {
        self.hash = hash
        var buffer = ByteBuffer()
        EventEncoder.appendUpdateStart(sub: sub, to: &buffer)
        start = .copy(of: buffer.bytes)
    }

    deinit {
        start.deallocate()
    }

    /// The start of an update's line.
    @inline(__always) var updateStart: Span<UInt8> { Span(kept: start) }

    /// The `sub` as JSON.
    var sub: Span<UInt8> { updateStart[Self.subOffset...] }
}

/// All texts in use. Owns them.
struct SubscriptionTexts: ~Copyable {
    private var texts: [UInt64: SubscriptionTextReference] = [:]
    private let hash = KeyHash()

    init() {}

    deinit {
        for text in texts.values {
            var next: SubscriptionTextReference? = text
            while let twin = next {
                next = twin.pointee.nextTwin
                Self.destroy(twin)
            }
        }
    }

    /// The text for a `sub` given as JSON, where some subscription has it.
    func find(_ sub: Span<UInt8>) -> SubscriptionTextReference? {
        var candidate = texts[hash(sub)]
        while let twin = candidate, !twin.pointee.sub.isEqual(to: sub) { candidate = twin.pointee.nextTwin }
        return candidate
    }

    /// The text for a `sub`, for one subscription more.
    mutating func retain(_ sub: Span<UInt8>) -> SubscriptionTextReference {
        if let text = find(sub) {
            text.pointee.references += 1
            return text
        }
        let key = hash(sub)
        let text = SubscriptionTextReference.allocate(capacity: 1)
        text.initialize(to: SubscriptionText(sub: sub, hash: key))
        text.pointee.nextTwin = texts.updateValue(text, forKey: key)
        return text
    }

    /// One subscription fewer has this text.
    mutating func release(_ text: SubscriptionTextReference) {
        text.pointee.references -= 1
        guard text.pointee.references == 0 else { return }
        unlink(text)
        Self.destroy(text)
    }

    private mutating func unlink(_ text: SubscriptionTextReference) {
        guard let first = texts[text.pointee.hash] else { return }
        if first == text {
            texts[text.pointee.hash] = text.pointee.nextTwin
            return
        }
        var previous = first
        while let twin = previous.pointee.nextTwin, twin != text { previous = twin }
        previous.pointee.nextTwin = text.pointee.nextTwin
    }

    private static func destroy(_ text: SubscriptionTextReference) {
        text.deinitialize(count: 1)
        text.deallocate()
    }
}

extension SubscriptionTexts {
    private static var always: Invariants { Invariants(of: "SubscriptionTexts") }

    /// Each text is there for as many subscriptions as it says.
    func checkInvariants(_ living: borrowing Living) throws(BrokenInvariant) {
        var users: [SubscriptionTextReference: Int] = [:]
        for subscription in living.subscriptions { users[subscription.pointee.text, default: 0] += 1 }
        var found = 0
        for (hash, first) in texts {
            var next: SubscriptionTextReference? = first
            while let text = next {
                found += 1
                let sub = String(text.pointee.sub)
                let isAtHome = text.pointee.hash == hash && self.hash(text.pointee.sub) == hash
                try Self.always.hold("a text is found by its hash", isAtHome, of: sub)
                let count = users[text] ?? 0
                try Self.always.agree(
                    "a text counts its subscriptions",
                    text.pointee.references,
                    count,
                    of: sub
                )
                next = text.pointee.nextTwin
            }
        }
        try Self.always.agree("each subscription's text is there", found, users.count)
    }
}
