// The table of all fields: one row each, with the field's name and its help. A name has at most eight bytes,
// so that the decoder can compare it as one word. Where a field means something particular in an operation,
// that operation's row says so.

/// What the table says about one field.
struct FieldRow {
    let name: StaticString
    /// A few words on what it takes, for a person at a terminal.
    let help: () -> String

    @inline(__always)
    init(_ name: StaticString, _ help: @escaping @autoclosure () -> String) {
        self.name = name
        self.help = help
    }
}

extension Field {
    /// The row of this field.
    @inline(__always)
    var row: FieldRow {
        switch self {
        case .operation: FieldRow("op", "the operation")
        case .id: FieldRow("id", "a string or an integer, repeated in the one reply")
        case .key: FieldRow("key", "words with dots between, such as cart.total")
        case .value: FieldRow("value", "any JSON")
        case .ifRevision:
            FieldRow("if", "write only if the key is at this revision; 0: only if there is no such key")
        case .cause:
            FieldRow("cause", "an integer that observers get, such as the revision that made you write")
        case .whileConnected:
            FieldRow("while", "\"connected\": the key is deleted when this connection ends")
        case .timeToLive: FieldRow("ttl", "milliseconds after which the key is deleted")
        case .writes: FieldRow("writes", "an array of \(Operation.writes("and")), without ids")
        case .name: FieldRow("name", "a name, at most \(Limits.nameBytesMax) bytes")
        case .keys: FieldRow("keys", "several patterns, instead of one key")
        case .after: FieldRow("after", "a key: only the keys after it")
        case .limit: FieldRow("limit", "how many at most, 1 to \(Limits.pageKeysMax)")
        case .sub: FieldRow("sub", "the subscription's name")
        case .initial: FieldRow("initial", "false: without the current values")
        case .old: FieldRow("old", "true: with the previous value")
        case .values: FieldRow("values", "false: tell only that a value changed, without the value")
        case .fields:
            FieldRow(
                "fields", "JSON Pointers: tell only changes of these parts, and only the parts that changed"
            )
        case .difference: FieldRow("diff", "true: a merge patch with what changed, instead of the value")
        case .condition: FieldRow("where", #"only values that match, such as {"/price":{"<":100}}"#)
        case .delivery:
            FieldRow(
                "delivery",
                #"for a slow reader, "latest": the newest update of each key; "all": every update"#
            )
        case .every: FieldRow("every", "milliseconds: at most one line per key in this time")
        case .phase:
            FieldRow(
                "phase", "0 to 9, by default 5: observers of later phases wait for the acks of earlier ones"
            )
        case .acknowledges: FieldRow("ack", "true: later phases wait for this one's ack")
        case .revision: FieldRow("revision", "the revision that you have handled")
        case .client: FieldRow("client", "the number of another client of this user")
        case .count: FieldRow("count", "how many lines, by default 1")
        case .write: FieldRow("write", "a \(Operation.writes("or")), without an id")
        case .timeout: FieldRow("timeout", "milliseconds to wait, by default \(Limits.timeoutDefault)")
        case .call: FieldRow("call", "the call's number, as in its event")
        case .error: FieldRow("error", #"instead of a value: {"code":"a_word","message":"a sentence"}"#)
        case .about: FieldRow("about", "the name of an operation")
        case .durable: FieldRow("durable", "true: the reply comes when it is on disk")
        case .since:
            FieldRow(
                "since", "a revision: the changes after it, if they are known, instead of the current values"
            )
        case .epoch: FieldRow("epoch", "the epoch of the greeting that since comes from")
        case .field:
            FieldRow(
                "field",
                #"a JSON Pointer to a part of the value, such as "/visits"; by default all of it"#
            )
        case .emits: FieldRow("emits", "a revision: the reply says how many emits came at it and after it")
        case .origin:
            FieldRow(
                "origin", "who wrote it first, if you pass it on: at most \(Limits.originBytesMax) bytes"
            )
        case .only: FieldRow("only", "\"calls\": tell nothing of writes")
        case .grace:
            FieldRow("grace", "milliseconds in which a client that comes back under this name keeps all")
        case .when: FieldRow("when", "true: with the time of each write")
        case .spare: FieldRow("spare", "true: if another serves it, wait in line to take over")
        }
    }
}

/// The help of fields in several operations.
enum FieldHelp {
    static let pattern = "a pattern, such as cart.total, cart.* (one token) or cart.** (any number)"
    static let served = "a key, or a pattern such as cart.*: the most specific server gets the call"
    static let newSub = "its name: a string or an integer"
    static let limit = Field.limit.row.help()
}
