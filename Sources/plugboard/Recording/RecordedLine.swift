// One checked line of a recording. The parts that a replay needs are there and well-formed, so playing the
// line can fail only because the broker refuses it.

import PlugboardWire

/// Something that happened while the recording was made.
struct RecordedEvent: Sendable {
    enum Kind: String, Sendable {
        case update, delete, emit

        /// The operation that makes it happen again.
        var operation: String { self == .update ? "publish" : rawValue }
    }

    /// The line's number, from 1.
    let number: Int
    /// Since the start of the recording.
    let milliseconds: Double
    let kind: Kind
    let key: String
    /// Nil in a delete.
    let value: ArraySlice<UInt8>?
    /// The revision in the recording.
    let revision: UInt64
    /// The writer, as JSON.
    let by: ArraySlice<UInt8>?
    /// Who wrote it first, as JSON.
    var origin: ArraySlice<UInt8>?
    var cause: UInt64?
    /// Whether it belongs to the state at the start.
    let isInitial: Bool
    /// How many earlier changes were folded into it.
    let skipped: UInt64
    /// How many gaps are before it. After a gap, revisions may be those of another broker.
    var gapsBefore = 0

    /// Whether the key is the broker's own, which no client may write.
    var isReserved: Bool { Key.isReserved(Array(key.utf8).span) }
}

/// What the writes of a server name as their cause when it was called.
struct RecordedCall: Hashable {
    let revision: UInt64
    /// The server, as JSON.
    let server: ArraySlice<UInt8>

    /// Whether the server has no name. Then the command that its `serve` runs writes as another client
    /// without one, whose number isn't known.
    var isUnnamed: Bool { server.starts(with: Self.number) }

    /// A call of this revision, whichever server without a name got it.
    static func ofAnyUnnamed(_ revision: UInt64) -> RecordedCall {
        RecordedCall(revision: revision, server: number[...])
    }

    /// How the name of a client without one begins.
    private static let number = Array(##""#"##.utf8)
}

/// A line of a recording.
enum RecordedLine {
    /// The first one.
    case header
    case event(RecordedEvent)
    /// A gap: what happened here isn't known. The current values follow.
    case gap
    /// A `lagged`: how many events were dropped here.
    case missing(UInt64)
    /// A call that its server got. It isn't played: what it led to is in the recording.
    case call(RecordedCall, cause: UInt64?)
    /// Nothing to play: the end of the snapshot, or something of a later version.
    case aside

    /// The longest time that a line may name: a year.
    static let millisecondsMax = 31_536_000_000.0

    init(_ line: FileLines.Line) throws(JSONFault) {
        let object = try line.object()
        if let version = object["recording"] {
            self = try Self.header(version)
            return
        }
        let milliseconds = try Self.milliseconds(object)
        guard let name = object["event"]?.string else { throw Self.missing("event") }
        if name == "lagged" {
            self = .missing(object["dropped"]?.integer ?? 0)
        } else if name == "gap" {
            self = .gap
        } else if name == "trace", let call = Self.call(object) {
            self = .call(call, cause: object["cause"]?.integer)
        } else if let kind = RecordedEvent.Kind(rawValue: name) {
            self = .event(try Self.event(kind, object, milliseconds, line.number))
        } else {
            self = .aside
        }
    }

    /// The revision in the first part of a line whose end is missing; nil if it isn't there.
    static func revision(inCut bytes: [UInt8]) -> UInt64? {
        let name = Array(#","revision":"#.utf8)
        guard bytes.count > name.count else { return nil }
        for start in 0..<(bytes.count - name.count) where bytes[start...].starts(with: name) {
            let digits = bytes[(start + name.count)...].prefix { (0x30...0x39).contains($0) }
            // If nothing follows, digits may be missing.
            guard digits.endIndex < bytes.count else { return nil }
            return UInt64(String(decoding: digits, as: UTF8.self))
        }
        return nil
    }

    private static func header(_ version: JSONValue) throws(JSONFault) -> RecordedLine {
        guard let number = version.integer, number <= Recording.version else {
            throw JSONFault(
                offset: 0,
                message:
                    "it is a recording of kind \(version.text), and this version plays kind \(Recording.version)"
            )
        }
        return .header
    }

    /// The call in a trace that says that its server is asked.
    private static func call(_ object: JSONObject) -> RecordedCall? {
        guard object["outcome"]?.string == "asked", let revision = object["revision"]?.integer,
            let server = object["server"]?.object?["name"]?.bytes
        else { return nil }
        return RecordedCall(revision: revision, server: server)
    }

    private static func milliseconds(_ object: JSONObject) throws(JSONFault) -> Double {
        guard let value = object["ms"] else { throw missing("ms") }
        guard let number = Double(value.text), number >= 0, number <= millisecondsMax else {
            throw JSONFault(offset: 0, message: "\"ms\" is a number from 0 to \(Int(millisecondsMax))")
        }
        return number
    }

    private static func event(
        _ kind: RecordedEvent.Kind, _ object: JSONObject, _ milliseconds: Double, _ number: Int
    ) throws(JSONFault) -> RecordedEvent {
        guard let key = object["key"]?.string else { throw missing("key") }
        if let fault = Key.fault(Array(key.utf8).span) {
            throw JSONFault(offset: 0, message: "\"\(key)\" is not a key: \(fault.rawValue)")
        }
        guard let revision = object["revision"]?.integer else { throw missing("revision") }
        let value = object["value"]?.bytes
        if kind != .delete, value == nil { throw missing("value") }
        return RecordedEvent(
            number: number,
            milliseconds: milliseconds,
            kind: kind,
            key: key,
            value: kind == .delete ? nil : value,
            revision: revision,
            by: object["by"]?.bytes,
            origin: object["origin"]?.bytes,
            cause: object["cause"]?.integer,
            isInitial: object["initial"]?.bool == true,
            skipped: object["skipped"]?.integer ?? 0
        )
    }

    private static func missing(_ name: String) -> JSONFault {
        JSONFault(offset: 0, message: "\"\(name)\" is missing")
    }
}
