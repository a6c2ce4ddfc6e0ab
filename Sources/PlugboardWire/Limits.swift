// Every limit of the protocol, in one place: the greeting, the documentation and
// the tests all print or compare these numbers, none is written down twice.

/// The limits that the broker announces in its greeting.
public enum Limits {
    /// Bytes of one line, without its line feed.
    public static let lineBytesMax = 1_048_576
    /// Bytes of a key or a pattern.
    public static let keyBytesMax = 256
    /// Nesting of arrays and objects within one value; `[` alone is 1.
    public static let depthMax = 64
    /// Bytes of a kept value; only a patch's result can come near it.
    public static let valueBytesMax = 1_048_576
    /// Bytes of a request's `id`, between the quotes as written.
    public static let idBytesMax = 64
    /// Bytes of a client's name.
    public static let nameBytesMax = 64
    /// Bytes of a subscription's own `sub`, without quotes.
    public static let subBytesMax = 64
    /// Patterns of one subscription.
    public static let patternsMax = 64
    /// Subscriptions of one client.
    public static let subscriptionsMax = 131_072
    /// Writes of one batch.
    public static let batchWritesMax = 1_024
    /// Milliseconds of `every`: a day.
    public static let everyMax = 86_400_000
    /// The last phase of a subscription; the first is 0.
    public static let phaseMax = 9
    /// Lines that one `step` lets through.
    public static let stepsMax = 1_000_000
    /// Milliseconds of a call's `timeout`: an hour.
    public static let timeoutMax = 3_600_000
    /// Calls of one client that wait for their answers at a time.
    public static let callsMax = 1_024
    /// Keys and patterns that one client serves.
    public static let servicesMax = 1_024
    /// Milliseconds that a call waits which names none.
    public static let timeoutDefault = 5_000
    /// Bytes of the code in a server's error.
    public static let codeBytesMax = 64
    /// Fields of one envelope, known and unknown ones together.
    public static let fieldsMax = 32
    /// JSON Pointers of one `fields`, and of one `where`; a set of them fits a machine word.
    public static let pointersMax = 64
    /// Bytes of a JSON Pointer, escapes of JSON decoded.
    public static let pointerBytesMax = 256
    /// Bytes of a `where`, as written.
    public static let whereBytesMax = 16_384
    /// Operators with their operands in one `where`.
    public static let conditionsMax = 64
    /// Values that an `in` of a `where` chooses from.
    public static let choicesMax = 256
    /// Keys in one reply to `keys`.
    public static let pageKeysMax = 10_000
    /// Keys in a reply to `keys` that names no `limit`.
    public static let pageKeysDefault = 1_000
    /// Steps in a reply to `why` that names no `limit`.
    public static let chainStepsDefault = 100
    /// Observers in one reply to `who`.
    public static let listedObserversMax = 1_000
    /// Observers that are named of those whom another one waits for.
    public static let awaitedObserversMax = 8
    /// Connections at a time.
    public static let clientsMax = 16_384
    /// Bytes that may wait in the broker for a peer that doesn't read.
    public static let outboxBytesMax = 4_194_304
    /// Unread bytes past which a peer is owed what comes, instead of being queued it.
    public static let highWaterBytes = 1_048_576
    /// Unread bytes below which it is told what it is owed.
    public static let lowWaterBytes = 262_144
    /// Bytes of lines, per client, that wait beside the outbox: emits, and what `delivery`
    /// "all" asks for.
    public static let queueBytesMax = 1_048_576
    /// Keys owed to one client, over all its subscriptions.
    public static let owedKeysMax = 4_194_304
    /// Durable writes of one client that wait for the disk at a time.
    public static let durablesMax = 16_384
    /// Lines over the limit in a row before the connection is closed.
    public static let overlongLinesMax = 64
    /// The largest magnitude of an integer in an envelope: 2^53 − 1 (RFC 7493, section 2.2).
    public static let integerMax: UInt64 = 9_007_199_254_740_991

    /// Each announced limit with its name in the greeting.
    public static let announced: [(name: String, value: Int)] = [
        ("line", lineBytesMax),
        ("key", keyBytesMax),
        ("depth", depthMax),
        ("value", valueBytesMax),
        ("id", idBytesMax),
        ("name", nameBytesMax),
        ("sub", subBytesMax),
        ("patterns", patternsMax),
        ("subscriptions", subscriptionsMax),
        ("batch", batchWritesMax),
        ("fields", fieldsMax),
        ("page", pageKeysMax),
        ("calls", callsMax),
        ("services", servicesMax),
        ("timeout", timeoutMax),
        ("code", codeBytesMax),
        ("clients", clientsMax),
        ("outbox", outboxBytesMax),
        ("queue", queueBytesMax),
        ("owed", owedKeysMax),
        ("durables", durablesMax),
        ("overlong", overlongLinesMax),
    ]
}

/// What this build of the protocol is called.
public enum ProtocolVersion {
    /// The number of the protocol; it grows only when old clients would break.
    public static let number = 1
    /// The version of the project.
    public static let software = "0.1.0"
    /// What a client may ask for beyond the plainest core, sorted.
    public static let features = [
        "ack", "batch", "calls", "cause", "delivery", "diff", "durable", "every", "explain", "fields", "if",
        "initial", "live", "old", "patch", "pause", "phase", "shorthand", "since", "trace", "ttl", "values",
        "where", "while", "who", "why", "will",
    ]
}
