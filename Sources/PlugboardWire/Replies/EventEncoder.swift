// Writes events as lines. Each line has two parts. The beginning differs between subscriptions, and each
// subscription keeps its own. The rest has the same bytes for all observers that asked for the same form.

import PlugboardMemory

/// Writes the `event` lines.
public enum EventEncoder {
    /// `,"key":"…","revision":`, up to the number. A key needs no escapes.
    @inlinable
    @inline(__always)
    public static func appendKey(_ key: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(#","key":""#)
        buffer.append(key)
        buffer.append(#"","revision":"#)
    }

    /// `{"event":"update","sub":…`: the beginning of a subscription's updates, up to the key. `sub` is
    /// JSON.
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

    /// The beginning of a `leave`: the value of a key no longer meets the subscription's conditions.
    public static func appendLeaveStart(sub: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(#"{"event":"leave","sub":"#)
        buffer.append(sub)
    }

    /// The rest of an event, from the key to the line feed. `hasValue`, `hasOld` and `hasWhen` say whether these
    /// fields are written. `change` comes in place of the value, begins with a comma, and may be empty.
    public static func appendTail(
        _ tail: borrowing EventTail,
        change: Span<UInt8> = Span(),
        hasValue: Bool = true,
        hasOld: Bool = true,
        hasWhen: Bool = false,
        to buffer: inout ByteBuffer
    ) {
        let value = hasValue ? tail.value : Span()
        let old = hasOld ? tail.old : Span()
        let pieces = tail.key.count &+ tail.by.count &+ value.count &+ old.count &+ change.count
        buffer.reserve(pieces &+ tailBytesMax)
        appendKey(tail.key, to: &buffer)
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
        if tail.isPlain, !hasWhen { return buffer.append("}\n") }
        appendReason(tail.reason, to: &buffer)
        if hasWhen, tail.when > 0 {
            buffer.append(#","when":""#)
            buffer.append(seconds: UInt64(tail.when))
            buffer.append("\"")
        }
        appendRest(tail, to: &buffer)
    }

    /// The most bytes of the field names, the revision and the braces of a plain tail.
    private static let tailBytesMax = 96

    /// The fields that few events have, and the end of the line.
    private static func appendRest(_ tail: borrowing EventTail, to buffer: inout ByteBuffer) {
        tail.cause.append(to: &buffer)
        if tail.isInitial { buffer.append(#","initial":true"#) }
        if let live = tail.live { appendLive(live, to: &buffer) }
        if tail.skipped > 0 {
            buffer.append(#","skipped":"#)
            buffer.append(decimal: UInt64(tail.skipped))
        }
        buffer.append(tail.ending)
        buffer.append("}\n")
    }

    /// `,"reason":"…"`, if there is a reason.
    public static func appendReason(_ reason: EventReason?, to buffer: inout ByteBuffer) {
        guard let reason else { return }
        buffer.append(#","reason":""#)
        buffer.append(reason.name)
        buffer.append("\"")
    }

    /// `,"while":"connected","grace":…,"ttl":…`: what ends a value by itself. 0 milliseconds are no time.
    public static func appendEnd(
        isWhileConnected: Bool, grace: UInt64 = 0, milliseconds: UInt64, to buffer: inout ByteBuffer
    ) {
        if isWhileConnected { buffer.append(#","while":"connected""#) }
        appendGrace(grace, to: &buffer)
        if milliseconds > 0 { buffer.append(member: "ttl", milliseconds) }
    }

    /// `,"grace":…`: how many milliseconds a client has to come back; 0 if it isn't waited for.
    public static func appendGrace(_ milliseconds: UInt64, to buffer: inout ByteBuffer) {
        if milliseconds > 0 { buffer.append(member: "grace", milliseconds) }
    }

    /// `,"live":…`: whether the connection of the value's writer is open.
    public static func appendLive(_ isLive: Bool, to buffer: inout ByteBuffer) {
        buffer.append(isLive ? #","live":true"# : #","live":false"#)
    }

    /// The end of a snapshot.
    public static func appendSynced(sub: Span<UInt8>, revision: UInt64, to buffer: inout ByteBuffer) {
        buffer.append(#"{"event":"synced","sub":"#)
        buffer.append(sub)
        buffer.append(member: "revision", revision)
        buffer.append("}\n")
    }

    /// The line that stands for events that were dropped.
    public static func appendLagged(
        sub: Span<UInt8>, dropped: UInt64, first: UInt64, last: UInt64, to buffer: inout ByteBuffer
    ) {
        buffer.append(#"{"event":"lagged","sub":"#)
        buffer.append(sub)
        buffer.append(member: "dropped", dropped)
        buffer.append(member: "first", first)
        buffer.append(member: "last", last)
        buffer.append("}\n")
    }

    /// The last line before the broker closes a connection.
    public static func appendBye(reason: String, message: String, to buffer: inout ByteBuffer) {
        buffer.append(#"{"event":"bye","reason":""#)
        buffer.append(string: reason)
        buffer.append(#"","message":"#)
        JSONText.append(message, to: &buffer)
        buffer.append("}\n")
    }

    /// The first line of every connection.
    public static func appendHello(
        epoch: String, revision: UInt64, client: UInt64, name: String? = nil, to buffer: inout ByteBuffer
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

    /// Whether the supervisor should start or stop a plugin.
    public static func appendDemand(plugin: String, isWanted: Bool, to buffer: inout ByteBuffer) {
        buffer.append(#"{"event":"demand","plugin":"#)
        JSONText.append(plugin, to: &buffer)
        buffer.append(isWanted ? #","wanted":true}"# : #","wanted":false}"#)
        buffer.append("\n")
    }

    /// `,"by":"…"`. The broker keeps these bytes for a client and for what it wrote.
    public static func appendAuthor(name: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(#","by":"#)
        JSONText.append(name, to: &buffer)
    }

    /// `,"origin":…` for an origin, given as JSON.
    public static func appendOrigin(_ origin: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(#","origin":"#)
        buffer.append(origin)
    }
}

/// Why the broker wrote instead of a client.
public enum EventReason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// The value was bound to its writer's connection, which ended.
    case disconnected = 1
    /// The value's time (`ttl`) was over.
    case expired
    /// The client had set the write as its disconnect action.
    case will

    public var name: StaticString {
        switch self {
        case .disconnected: "disconnected"
        case .expired: "expired"
        case .will: "will"
        }
    }
}

/// The part of an event that is the same for all observers.
public struct EventTail: ~Escapable {
    public var key: Span<UInt8>
    public var revision: UInt64
    public var value: Span<UInt8>
    public var old: Span<UInt8>
    /// What `EventEncoder.appendAuthor` wrote.
    public var by: Span<UInt8>
    public var cause: WriteCause
    /// Nil if the client itself made the write.
    public var reason: EventReason?
    /// When the write was made, in seconds since 1970; 0 if nobody knows.
    public var when: UInt32 = 0
    public var isInitial: Bool
    /// Whether the writer's connection is open; nil if the event doesn't tell.
    public var live: Bool?
    /// The number of updates that were folded into this one.
    public var skipped: UInt32 = 0
    /// Members that few lines have, as text that begins with a comma: `while` and `ttl`, then `unacked`, the
    /// observers of earlier phases that didn't send their `ack` in time.
    public var ending: Span<UInt8>

    /// Whether it has no field that few events have.
    @inline(__always)
    fileprivate var isPlain: Bool {
        !cause.isNamed && reason == nil && !isInitial && live == nil && skipped == 0 && ending.isEmpty
    }

    @inlinable
    @_lifetime(copy key, copy value, copy old, copy by)
    public init(
        key: Span<UInt8>,
        revision: UInt64,
        value: Span<UInt8>,
        old: Span<UInt8> = Span(),
        by: Span<UInt8>,
        cause: WriteCause,
        reason: EventReason? = nil,
        isInitial: Bool = false,
        live: Bool? = nil
    ) {
        self.key = key
        self.revision = revision
        self.value = value
        ending = Span()
        self.old = old
        self.by = by
        self.cause = cause
        self.reason = reason
        self.isInitial = isInitial
        self.live = live
    }
}
