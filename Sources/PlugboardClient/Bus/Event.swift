// An event of a subscription: one line from the broker. The bus's thread makes it with its own copy of
// the bytes, so any thread may use it. Values stay bytes until the program decodes them. Also the values
// and keys that requests return.

import PlugboardMemory
import PlugboardWire

/// A change of a key, a value that isn't kept, the end of a snapshot, or a gap.
public struct Event: Sendable, Equatable {
    public enum Kind: Sendable, Equatable {
        /// The key has a new value. With `isInitial`, it is the current value.
        case update
        /// A value that isn't kept.
        case emit
        /// The key is gone. With `isInitial`, it was deleted while the connection was down.
        case delete
        /// The value no longer matches the subscription's `where`. With `isInitial`, that happened
        /// while the connection was down, or the key was deleted then.
        case leave
        /// The snapshot is complete, and later events are live. `key` is empty.
        case synced
        /// The broker dropped events here, because there was no room for them; `gap` says which. `key` is
        /// empty.
        case lagged
    }

    /// What a `lagged` event stands for.
    public struct Gap: Sendable, Equatable {
        /// How many events were dropped.
        public let dropped: Int
        /// The revisions of the first and the last event that was dropped.
        public let first: Int
        public let last: Int
    }

    /// Why the broker wrote for a client. Reasons that this library doesn't know are kept.
    public struct Reason: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { rawValue = value }

        /// The value was there `while: .connected`, and its writer's connection has ended.
        public static let disconnected: Reason = "disconnected"
        /// The value's `ttl` is over.
        public static let expired: Reason = "expired"
        /// The broker made the write of a will, because the client's connection has ended.
        public static let will: Reason = "will"
    }

    public let kind: Kind
    /// Empty for `synced` and `lagged`.
    public let key: String
    /// The revision of this change. In `lagged`, that of the last event that was dropped.
    public let revision: Int
    /// The new value. With `diff` it is the whole value, too. Nil for `delete`, `leave`, `synced` and
    /// `lagged`, and if the subscription asked for parts or for no values.
    public internal(set) var value: JSON?
    /// The previous value, if the subscription asked for it and there was one.
    public let old: JSON?
    /// The writer: a client's name, or `#` and its number.
    public let by: String?
    /// The revision that the writer named as the cause, if any.
    public let cause: Int?
    /// Whether it belongs to the state at the beginning of the subscription, and is no new change.
    public let isInitial: Bool
    /// The parts that changed, by their pointers, if the subscription asked for `fields`. With
    /// `isInitial`, all parts that exist.
    public var fields: [String: JSON] = [:]
    /// The pointers of the parts that are gone.
    public var gone: [String] = []
    /// With `diff`, the merge patch (RFC 7396) from the previous value to this one; nil if the
    /// broker sent the whole value.
    public var patch: JSON?
    /// Why the broker wrote instead of the writer; nil if the writer itself did.
    public var reason: Reason?
    /// Who wrote it first, if the writer passed it on and said so, such as `cart@hostB`.
    public internal(set) var origin: String?
    /// When the write was made, in UTC, such as `2026-11-21T13:05:00Z`; nil unless the subscription asked for
    /// ``SubscribeOptions/when``.
    public internal(set) var when: String?
    /// How many earlier updates of the key were folded into this one because they had to wait.
    public var skipped = 0
    /// The names of observers of earlier phases that didn't acknowledge the event in time.
    public var unacknowledged: [String] = []
    /// Whether the connection of the value's writer is still open. Nil unless `isInitial`.
    public var isWriterLive: Bool?
    /// What ends the value by itself; nil if no connection does.
    public var lifetime: Lifetime?
    /// How long the value still stays; nil if that isn't limited.
    public var ttl: Duration?
    /// What was dropped; nil unless this is `lagged`.
    public var gap: Gap?
    /// Whether it happened before this connection, while the program was away, and is told now. `synced` has
    /// it, too, if it ends such events and not the current values.
    public internal(set) var isMissed = false
    /// How many emits came while the program was away. The first event after that has it, if the subscription
    /// ``SubscribeOptions/countsEmits``; nil if the broker doesn't know.
    public internal(set) var missedEmits: Int?
    /// The place behind this event, where another subscription can continue; see ``SubscribeOptions/since``.
    /// Until a snapshot is complete, it is the place before the snapshot.
    public internal(set) var place = Place.beginning

    /// The value as a type of yours, or as `JSON` without a copy.
    /// - Throws: `BusError.undecodable` with the key and the reason.
    @inlinable
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        guard let value else { throw BusError.undecodable(key: key, reason: "the event has no value") }
        return try value.decode(as: type, for: key)
    }
}

extension JSON {
    /// Decodes the value. The error names the key.
    @inlinable
    func decode<Value: Decodable>(as type: Value.Type, for key: String) throws(BusError) -> Value {
        do {
            return try decode(as: type)
        } catch {
            throw .undecodable(key: key, reason: "\(error)")
        }
    }
}

extension Event {
    /// The event of a line; nil for a kind that this library doesn't know.
    init?(_ line: ParsedLine, _ bytes: Span<UInt8>) {
        guard let kind = Kind(line.head.bytes(of: bytes)) else { return nil }
        self.kind = kind
        key = bytes.text(line.key) ?? ""
        gap = kind == .lagged ? Gap(line, bytes) : nil
        revision = gap?.last ?? bytes.integer(line.revision) ?? 0
        value = line.value.isEmpty ? nil : JSON(copying: line.value.bytes(of: bytes))
        old = line.old.isEmpty ? nil : JSON(copying: line.old.bytes(of: bytes))
        by = bytes.text(line.by)
        cause = bytes.integer(line.cause)
        isInitial = bytes.flag(line.initial)
        fields = bytes.parts(line.fields)
        gone = bytes.texts(line.gone)
        patch = line.patch.isEmpty ? nil : JSON(copying: line.patch.bytes(of: bytes))
        reason = bytes.text(line.reason).map { Reason(rawValue: $0) }
        origin = bytes.text(line.origin)
        when = bytes.text(line.when)
        skipped = bytes.integer(line.skipped) ?? 0
        unacknowledged = bytes.texts(line.unacked)
        isWriterLive = line.live.isEmpty ? nil : bytes.flag(line.live)
        lifetime = bytes.lifetime(line)
        ttl = bytes.milliseconds(line.timeToLive)
    }

    /// An event for a key that the subscription knew before the connection broke, and that didn't come on
    /// the new connection.
    static func noticed(_ kind: Kind, of key: String, revision: Int, _ place: Place) -> Event {
        var event = Event(
            kind: kind,
            key: key,
            revision: revision,
            value: nil,
            old: nil,
            by: nil,
            cause: nil,
            isInitial: true
        )
        event.place = place
        return event
    }

    /// How many bytes it takes up in a buffer.
    var bytesHeld: Int {
        let parts = fields.reduce(gone.reduce(0) { $0 + $1.utf8.count }) {
            $0 + $1.key.utf8.count + $1.value.bytes.count
        }
        let values = [value, old, patch].reduce(0) { $0 + ($1?.bytes.count ?? 0) }
        return key.utf8.count + values + parts + ClientLimits.eventOverheadBytes
    }
}

extension Event.Kind {
    fileprivate init?(_ name: Span<UInt8>) {
        if name.spells("update") {
            self = .update
        } else if name.spells("emit") {
            self = .emit
        } else if name.spells("delete") {
            self = .delete
        } else if name.spells("leave") {
            self = .leave
        } else if name.spells("synced") {
            self = .synced
        } else if name.spells("lagged") {
            self = .lagged
        } else {
            return nil
        }
    }
}

extension Event.Gap {
    fileprivate init(_ line: ParsedLine, _ bytes: Span<UInt8>) {
        dropped = bytes.integer(line.dropped) ?? 0
        first = bytes.integer(line.first) ?? 0
        last = bytes.integer(line.last) ?? 0
    }
}

/// A key's value, and what the bus knows about it.
public struct Entry: Sendable, Equatable {
    public let key: String
    public let value: JSON
    public let revision: Int
    /// The writer: a client's name, or `#` and its number.
    public let by: String?
    /// Who wrote it first, if the writer passed it on and said so, such as `cart@hostB`.
    public internal(set) var origin: String?
    /// When it was written, in UTC, such as `2026-11-21T13:05:00Z`; nil if the broker doesn't say.
    public internal(set) var when: String?
    /// The revision that the writer named as the cause, if any.
    public let cause: Int?
    /// Why the broker wrote instead of the writer; nil if the writer itself did.
    public let reason: Event.Reason?
    /// Whether the connection of the value's writer is still open.
    public let isWriterLive: Bool
    /// What ends the value by itself; nil if no connection does.
    public var lifetime: Lifetime?
    /// How long the value still stays; nil if that isn't limited.
    public var ttl: Duration?
    /// How long its writer, who is gone, may still take to come back and keep it; nil if nobody waits for it.
    public internal(set) var grace: Duration?

    /// The value as a type of yours.
    /// - Throws: `BusError.undecodable` with the key and the reason.
    @inlinable
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try value.decode(as: type, for: key)
    }
}

/// A key that exists, and its revision.
public struct KeyRevision: Sendable, Equatable {
    public let key: String
    public let revision: Int
    /// Whether the connection of the value's writer is still open.
    public let isWriterLive: Bool
    /// What ends the value by itself; nil if no connection does.
    public var lifetime: Lifetime?
    /// How long the value still stays; nil if that isn't limited.
    public var ttl: Duration?
    /// How long its writer, who is gone, may still take to come back and keep it; nil if nobody waits for it.
    public internal(set) var grace: Duration?
}
