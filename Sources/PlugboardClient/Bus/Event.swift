// An event of a subscription: one line from the broker, with its value still as bytes.

import PlugboardMemory
import PlugboardWire

/// A change of a key, an event that is not kept, the end of a snapshot, or a gap.
public struct Event: Sendable, Equatable {
    public enum Kind: Sendable, Equatable {
        /// The key has a new value. With `isInitial`, it is the current value.
        case update
        /// An event that is not kept.
        case emit
        /// The key is gone. With `isInitial`, it was deleted while the connection was down.
        case delete
        /// The value no longer matches the subscription's `where`. With `isInitial`, that happened
        /// while the connection was down, or the key was deleted then.
        case leave
        /// The snapshot is complete: what follows is live. Its key is empty.
        case synced
        /// The broker dropped events here for which there was no room; `gap` says which. Its key is
        /// empty.
        case lagged
    }

    /// What a `lagged` event stands for.
    public struct Gap: Sendable, Equatable {
        /// How many events were dropped.
        public let dropped: Int
        /// The revisions that the first and the last of them carried.
        public let first: Int
        public let last: Int
    }

    /// Why the broker wrote in a client's name. Reasons that this library doesn't know are kept.
    public struct Reason: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { rawValue = value }

        /// The value was there `while: .connected`, and its writer's connection has ended.
        public static let disconnected: Reason = "disconnected"
        /// The value's `ttl` is over.
        public static let expired: Reason = "expired"
        /// It is the will (disconnect action) of a client whose connection has ended.
        public static let will: Reason = "will"
    }

    public let kind: Kind
    /// Empty for `synced` and `lagged`.
    public let key: String
    /// The bus's revision of this change; of `lagged`, that of the last event dropped.
    public let revision: Int
    /// The new value. It is nil for `delete`, `leave` and `synced`, and if the subscription asked
    /// for parts or for no values. With `diff`, too, it is the whole value.
    public internal(set) var value: JSON?
    /// The previous value, if the subscription asked for it and there was one.
    public let old: JSON?
    /// Who wrote it: a client's name, or `#` and its number.
    public let by: String?
    /// The revision that caused it, where its writer named one.
    public let cause: Int?
    /// Whether it is part of the state on subscribing, and not a change just made.
    public let isInitial: Bool
    /// The parts that changed, by their pointers, where the subscription asked for `fields`.
    /// With `isInitial`, all those that are there.
    public var fields: [String: JSON] = [:]
    /// The pointers of the parts that are gone.
    public var gone: [String] = []
    /// With `diff`, the merge patch (RFC 7396) from the previous value to this one; nil if the
    /// broker sent the whole value.
    public var patch: JSON?
    /// Why the broker wrote it in its writer's name; nil where the writer itself did.
    public var reason: Reason?
    /// How many earlier updates of the key were folded into this one, because they had to wait.
    public var skipped = 0
    /// The names of observers of an earlier phase that didn't acknowledge it in time.
    public var unacknowledged: [String] = []
    /// Whether the connection that wrote it is still open. Known only with `isInitial`; otherwise
    /// nil.
    public var isWriterLive: Bool?
    /// What was dropped, of `lagged`; otherwise nil.
    public var gap: Gap?

    /// The value as a type of yours, or as `JSON` without a copy.
    /// - Throws: `BusError.undecodable` with the key and the reason.
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        guard let value else { throw BusError.undecodable(key: key, reason: "the event has no value") }
        return try value.decode(as: type, for: key)
    }
}

extension JSON {
    /// Decodes with an error that names the key.
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
    init?(_ line: LinePlaces, _ bytes: Span<UInt8>) {
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
        skipped = bytes.integer(line.skipped) ?? 0
        unacknowledged = bytes.texts(line.unacked)
        isWriterLive = line.live.isEmpty ? nil : bytes.flag(line.live)
    }

    /// An event for a key that the subscription knew before the connection broke, and didn't get
    /// afterwards.
    static func noticed(_ kind: Kind, of key: String, revision: Int) -> Event {
        Event(
            kind: kind,
            key: key,
            revision: revision,
            value: nil,
            old: nil,
            by: nil,
            cause: nil,
            isInitial: true
        )
    }

    /// What it costs a buffer.
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
    fileprivate init(_ line: LinePlaces, _ bytes: Span<UInt8>) {
        dropped = bytes.integer(line.dropped) ?? 0
        first = bytes.integer(line.first) ?? 0
        last = bytes.integer(line.last) ?? 0
    }
}

/// A key's value with what the bus knows about it.
public struct Entry: Sendable, Equatable {
    public let key: String
    public let value: JSON
    public let revision: Int
    /// Who wrote it.
    public let by: String?
    /// The revision that caused it, where its writer named one.
    public let cause: Int?
    /// Why the broker wrote it in its writer's name; nil where the writer itself did.
    public let reason: Event.Reason?
    /// Whether the connection that wrote it still stands.
    public let isWriterLive: Bool

    /// The value as a type of yours.
    /// - Throws: `BusError.undecodable` with the key and the reason.
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try value.decode(as: type, for: key)
    }
}

/// A key that exists, and its revision.
public struct KeyRevision: Sendable, Equatable {
    public let key: String
    public let revision: Int
    /// Whether the connection that wrote it still stands.
    public let isWriterLive: Bool
}
