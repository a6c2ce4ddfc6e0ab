// The text that `help` gives for each field, for a person at a terminal. Every field of an operation has
// one. A field that means different things in different operations has several.

/// The help of one field.
enum FieldHelp {
    /// A few words on what the field takes in this operation.
    static func text(_ field: Field, of operation: Operation) -> String {
        switch field {
        case .operation: "the operation"
        case .id: "a string or an integer, repeated in the one reply"
        case .key: key(operation)
        case .value: value(operation)
        case .ifRevision: "write only if the key is at this revision; 0: only if there is no such key"
        case .cause: "an integer that observers get, such as the revision that made you write"
        case .writes: "an array of publish, emit, patch, add and delete, without ids"
        case .name: "a name, at most \(Limits.nameBytesMax) bytes"
        case .keys: "several patterns, instead of one key"
        case .after: "a key: only the keys after it"
        case .limit: limit(operation)
        case .every: every(operation)
        case .sub: sub(operation)
        case .about: "the name of an operation"
        case .origin: "who wrote it first, if you pass it on: at most \(Limits.originBytesMax) bytes"
        default: rarer(field)
        }
    }

    private static func rarer(_ field: Field) -> String {
        switch field {
        case .initial: "false: without the current values"
        case .old: "true: with the previous value"
        case .values: "false: tell only that a value changed, without the value"
        case .fields: "JSON Pointers: tell only changes of these parts, and only the parts that changed"
        case .difference: "true: a merge patch with what changed, instead of the value"
        case .condition: #"only values that match, such as {"/price":{"<":100}}"#
        case .delivery: "for a slow reader, \"latest\": the newest update of each key; \"all\": every update"
        case .phase: "0 to 9, by default 5: observers of later phases wait for the acks of earlier ones"
        case .acknowledges: "true: later phases wait for this one's ack"
        case .revision: "the revision that you have handled"
        case .since: "a revision: the changes after it, if they are known, instead of the current values"
        case .emits: "a revision: the reply says how many emits came at it and after it"
        case .epoch: "the epoch of the greeting that since comes from"
        case .client: "the number of another client of this user"
        case .count: "how many lines, by default 1"
        case .whileConnected: "\"connected\": the key is deleted when this connection ends"
        case .durable: "true: the reply comes when it is on disk"
        case .timeToLive: "milliseconds after which the key is deleted"
        case .write: "a publish, emit, patch, add or delete, without an id"
        case .timeout: "milliseconds to wait, by default \(Limits.timeoutDefault)"
        case .call: "the call's number, as in its event"
        case .error: #"instead of a value: {"code":"a_word","message":"a sentence"}"#
        case .field: #"a JSON Pointer to a part of the value, such as "/visits"; by default all of it"#
        default: ""
        }
    }

    private static func value(_ operation: Operation) -> String {
        switch operation {
        case .patch: "a merge patch: null removes a member"
        case .add: "a number, such as 1, -1 or 0.05"
        case .call: "what the server gets, any JSON"
        case .answer: "what the caller gets, any JSON"
        default: "any JSON"
        }
    }

    private static func every(_ operation: Operation) -> String {
        operation == .trace
            ? "milliseconds: at most limit events in this time, by default 1,000"
            : "milliseconds: at most one line per key in this time"
    }

    private static func limit(_ operation: Operation) -> String {
        let range = "how many at most, 1 to \(Limits.pageKeysMax)"
        if operation == .trace { return "\(range), in each time of every; by default all, with every 1" }
        let standard = operation == .keys ? Limits.pageKeysDefault : Limits.chainStepsDefault
        return "\(range); by default \(standard)"
    }

    private static func sub(_ operation: Operation) -> String {
        switch operation {
        case .subscribe, .trace: "its name: a string or an integer"
        default: "the subscription's name"
        }
    }

    private static func key(_ operation: Operation) -> String {
        switch operation {
        case .keys, .subscribe, .trace:
            "a pattern, such as cart.total, cart.* (one token) or cart.** (any number)"
        case .serve, .unserve: "a key, or a pattern such as cart.*: the most specific server gets the call"
        default: "words with dots between, such as cart.total"
        }
    }
}
