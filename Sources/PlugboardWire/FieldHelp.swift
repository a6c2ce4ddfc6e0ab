// What `help` says of each field, for a person at a terminal.

/// The help of one field.
enum FieldHelp {
    /// A few words on what stands in the field.
    static func text(_ field: Field, of operation: Operation) -> String {
        switch field {
        case .operation: "the operation"
        case .id: "a string or an integer, repeated in the one reply"
        case .key: key(operation)
        case .value: operation == .patch ? "a merge patch: null removes a member" : "any JSON"
        case .ifRevision: "only while the key is at this revision; 0: only where it is absent"
        case .cause: "an integer that observers are told, such as the revision that made you write"
        case .writes: "an array of publish, emit, patch and delete, without ids"
        case .name: "a name, at most \(Limits.nameBytesMax) bytes"
        case .keys: "several patterns, instead of one key"
        case .after: "a key: only those behind it"
        case .limit: "how many at most, 1 to \(Limits.pageKeysMax); \(Limits.pageKeysDefault) unless told"
        case .sub: operation == .unsubscribe ? "the subscription's name" : "its name: a string or an integer"
        case .initial: "false: without the current values"
        case .old: "true: with the value before"
        case .values: "false: only that something changed, without the value"
        case .about: "the name of an operation"
        }
    }

    private static func key(_ operation: Operation) -> String {
        switch operation {
        case .keys, .subscribe: "a pattern, such as cart.total, cart.* (one token) or cart.** (any number)"
        default: "words with dots between, such as cart.total"
        }
    }
}
