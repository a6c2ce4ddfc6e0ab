// What `help` says of each field, for a person at a terminal.

/// The help of one field.
enum FieldHelp {
    /// A few words on what stands in the field.
    static func text(_ field: Field, of operation: Operation) -> String {
        switch field {
        case .operation: "the operation"
        case .id: "a string or an integer, repeated in the one reply"
        case .key: key(operation)
        case .value: value(operation)
        case .ifRevision: "only while the key is at this revision; 0: only where it is absent"
        case .cause: "an integer that observers are told, such as the revision that made you write"
        case .writes: "an array of publish, emit, patch and delete, without ids"
        case .name: "a name, at most \(Limits.nameBytesMax) bytes"
        case .keys: "several patterns, instead of one key"
        case .after: "a key: only those behind it"
        case .limit: limit(operation)
        case .sub: sub(operation)
        case .about: "the name of an operation"
        default: rarer(field)
        }
    }

    private static func rarer(_ field: Field) -> String {
        switch field {
        case .initial: "false: without the current values"
        case .old: "true: with the value before"
        case .values: "false: only that something changed, without the value"
        case .fields: "JSON Pointers: told only when one of these parts changed, and only those parts"
        case .difference: "true: what changed since the last line, as a merge patch, instead of the value"
        case .condition: #"only values that match, such as {"/price":{"<":100}}"#
        case .delivery: "for a slow reader, \"latest\": the newest of each key; \"all\": every one"
        case .every: "milliseconds: at most one line per key in so long"
        case .phase: "0 to 9, 5 unless told: lower ones are told first, where they acknowledge"
        case .acknowledges: "true: later phases wait for this one's ack"
        case .revision: "the revision that was dealt with"
        case .since: "a revision: what changed after it, where that is known, instead of the current values"
        case .epoch: "the epoch of the greeting under which since was told"
        case .client: "the number of another client of this user"
        case .count: "how many lines, 1 unless told"
        case .whileConnected: "\"connected\": the key is deleted when this connection ends"
        case .durable: "true: answered when it is on disk"
        case .timeToLive: "milliseconds after which the key is deleted"
        case .write: "a publish, emit, patch or delete, without an id"
        case .timeout: "milliseconds to wait, \(Limits.timeoutDefault) unless told"
        case .call: "the call, as its event names it"
        case .error: #"instead of a value: {"code":"a_word","message":"a sentence"}"#
        default: ""
        }
    }

    private static func value(_ operation: Operation) -> String {
        switch operation {
        case .patch: "a merge patch: null removes a member"
        case .call: "what the server gets, any JSON"
        case .answer: "what the caller gets, any JSON"
        default: "any JSON"
        }
    }

    private static func limit(_ operation: Operation) -> String {
        let range = "how many at most, 1 to \(Limits.pageKeysMax)"
        let unlessTold = operation == .keys ? Limits.pageKeysDefault : Limits.chainStepsDefault
        return "\(range); \(unlessTold) unless told"
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
