// Events as lines. What differs per observer (which subscription) comes first and is
// kept ready by the subscription; the rest is the same bytes for all of a kind.

import PlugboardMemory

/// Writers of the `event` lines.
public enum EventEncoder {
    /// `,"key":"…","revision":` for a key: kept with it, since it never changes.
    public static func appendKeyPrefix(_ key: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(#","key":""#)
        buffer.append(key)
        buffer.append(#"","revision":"#)
    }

    /// `{"event":"update","sub":…`: what stands before the key in a subscription's updates.
    /// A sub is given as the JSON it is written as.
    public static func appendUpdateStart(sub: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(#"{"event":"update","sub":"#)
        buffer.append(sub)
    }

    public static func appendEmitStart(sub: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(#"{"event":"emit","sub":"#)
        buffer.append(sub)
    }

    public static func appendDeleteStart(sub: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(#"{"event":"delete","sub":"#)
        buffer.append(sub)
    }

    /// A value that matched an observer's conditions does so no longer.
    public static func appendLeaveStart(sub: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(#"{"event":"leave","sub":"#)
        buffer.append(sub)
    }

    /// What follows the start of an event: from the key to the line feed. `hasValue` and
    /// `hasOld` leave out what is false of them. `change` is what stands in place of the
    /// value, with a comma before it.
    public static func appendTail(
        _ tail: borrowing EventTail,
        change: Span<UInt8> = Span(),
        hasValue: Bool = true,
        hasOld: Bool = true,
        to buffer: inout ByteBuffer
    ) {
        let value = hasValue ? tail.value : Span()
        let old = hasOld ? tail.old : Span()
        let pieces = tail.keyPrefix.count &+ tail.by.count &+ value.count &+ old.count &+ change.count
        buffer.reserve(pieces &+ tailBytesMax)
        buffer.append(tail.keyPrefix)
        buffer.append(decimal: tail.revision)
        buffer.append(change)
        if value.count > 0 {
            buffer.append(#","value":"#)
            buffer.append(value)
        }
        if old.count > 0 {
            buffer.append(#","old":"#)
            buffer.append(old)
        }
        buffer.append(tail.by)
        if tail.isPlain { return buffer.append("}\n") }
        appendRest(tail, to: &buffer)
    }

    /// Names, a revision and what else a plain tail has beside its pieces.
    private static let tailBytesMax = 64

    /// What few events have, and the end of the line.
    private static func appendRest(_ tail: borrowing EventTail, to buffer: inout ByteBuffer) {
        appendReason(tail.reason, to: &buffer)
        tail.cause.append(to: &buffer)
        if tail.isInitial { buffer.append(#","initial":true"#) }
        if let live = tail.live { appendLive(live, to: &buffer) }
        if tail.skipped > 0 {
            buffer.append(#","skipped":"#)
            buffer.append(decimal: UInt64(tail.skipped))
        }
        buffer.append(tail.unacknowledged)
        buffer.append("}\n")
    }

    /// `,"reason":"…"`, where there is one.
    public static func appendReason(_ reason: EventReason?, to buffer: inout ByteBuffer) {
        guard let reason else { return }
        buffer.append(#","reason":""#)
        buffer.append(reason.name)
        buffer.append("\"")
    }

    /// `,"live":…`: whether the connection of a value's writer still lives.
    public static func appendLive(_ isLive: Bool, to buffer: inout ByteBuffer) {
        buffer.append(isLive ? #","live":true"# : #","live":false"#)
    }

    /// The end of a snapshot.
    public static func appendSynced(
        sub: Span<UInt8>,
        revision: UInt64,
        to buffer: inout ByteBuffer
    ) {
        buffer.append(#"{"event":"synced","sub":"#)
        buffer.append(sub)
        buffer.append(#","revision":"#)
        buffer.append(decimal: revision)
        buffer.append("}\n")
    }

    /// Events that were dropped, in their place.
    public static func appendLagged(
        sub: Span<UInt8>,
        dropped: UInt64,
        first: UInt64,
        last: UInt64,
        to buffer: inout ByteBuffer
    ) {
        buffer.append(#"{"event":"lagged","sub":"#)
        buffer.append(sub)
        buffer.append(#","dropped":"#)
        buffer.append(decimal: dropped)
        buffer.append(#","first":"#)
        buffer.append(decimal: first)
        buffer.append(#","last":"#)
        buffer.append(decimal: last)
        buffer.append("}\n")
    }

    /// The last line before the broker closes a connection.
    public static func appendBye(reason: StaticString, message: String, to buffer: inout ByteBuffer) {
        buffer.append(#"{"event":"bye","reason":""#)
        buffer.append(reason)
        buffer.append(#"","message":"#)
        JSONText.append(message, to: &buffer)
        buffer.append("}\n")
    }

    /// The first line of every connection.
    public static func appendHello(
        epoch: String,
        revision: UInt64,
        client: UInt64,
        name: String? = nil,
        to buffer: inout ByteBuffer
    ) {
        buffer.append(
            string: #"{"event":"hello","broker":"plugboard","version":"\#(ProtocolVersion.software)""#
        )
        buffer.append(
            string: #","protocol":\#(ProtocolVersion.number),"epoch":"\#(epoch)","revision":\#(revision)"#
        )
        buffer.append(string: #","client":\#(client)"#)
        if let name {
            buffer.append(#","name":"#)
            JSONText.append(name, to: &buffer)
        }
        buffer.append(string: #","limits":{"#)
        let limits = Limits.announced.map { #""\#($0.name)":\#($0.value)"# }
        buffer.append(string: limits.joined(separator: ","))
        let features = ProtocolVersion.features.map { #""\#($0)""# }
        buffer.append(string: #"},"features":[\#(features.joined(separator: ","))]}"#)
        buffer.append("\n")
    }

    /// Whether a plugin is to be started or stopped, for who looks after it.
    public static func appendDemand(plugin: String, isWanted: Bool, to buffer: inout ByteBuffer) {
        buffer.append(#"{"event":"demand","plugin":"#)
        JSONText.append(plugin, to: &buffer)
        buffer.append(isWanted ? #","wanted":true}"# : #","wanted":false}"#)
        buffer.append("\n")
    }

    /// `,"by":"…"`: kept with a client and with what it wrote.
    public static func appendAuthor(name: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(#","by":"#)
        JSONText.append(name, to: &buffer)
    }
}

/// Why the broker wrote on behalf of a client.
public enum EventReason: UInt8, CaseIterable, Sendable {
    /// The value was to last as long as its writer's connection.
    case disconnected = 1
    /// The value's time was up.
    case expired
    /// The client had left it to be done when its connection ends.
    case will

    /// How it is spelled.
    public var name: StaticString {
        switch self {
        case .disconnected: "disconnected"
        case .expired: "expired"
        case .will: "will"
        }
    }
}

/// The part of an event that all observers of a kind share.
public struct EventTail: ~Escapable {
    /// As `EventEncoder.appendKeyPrefix` wrote it.
    public var keyPrefix: Span<UInt8>
    public var revision: UInt64
    public var value: Span<UInt8>
    public var old: Span<UInt8>
    /// As `EventEncoder.appendAuthor` wrote it.
    public var by: Span<UInt8>
    public var cause: WriteCause
    /// Where it was not the writer itself that wrote.
    public var reason: EventReason?
    public var isInitial: Bool
    /// Whether the writer's connection still lives, where that is told.
    public var live: Bool?
    /// Updates folded into this one.
    public var skipped: UInt32 = 0
    /// `,"unacked":[…]`: who of an earlier phase had not acknowledged in time.
    public var unacknowledged: Span<UInt8>

    /// Has none of what few events have.
    @inline(__always)
    fileprivate var isPlain: Bool {
        !cause.isNamed && reason == nil && !isInitial && live == nil && skipped == 0 && unacknowledged.isEmpty
    }

    @inlinable
    @_lifetime(copy keyPrefix, copy value, copy old, copy by)
    public init(
        keyPrefix: Span<UInt8>,
        revision: UInt64,
        value: Span<UInt8>,
        old: Span<UInt8> = Span(),
        by: Span<UInt8>,
        cause: WriteCause,
        reason: EventReason? = nil,
        isInitial: Bool = false,
        live: Bool? = nil
    ) {
        self.keyPrefix = keyPrefix
        self.revision = revision
        self.value = value
        unacknowledged = Span()
        self.old = old
        self.by = by
        self.cause = cause
        self.reason = reason
        self.isInitial = isInitial
        self.live = live
    }
}
