// All limits of the protocol (SPEC.md, section 9). The greeting and most messages print these numbers,
// and tests compare the specification with them. Only `Key.Fault` repeats one, because a raw value must
// be a literal.

/// The limits of the protocol. The broker announces most of them in its greeting.
public enum Limits {
    /// Bytes of one line, without its line feed: the longest value and what is around it. So whatever a key
    /// can have can also be published.
    public static let lineBytesMax = valueBytesMax + envelopeBytesMax
    /// What a line may have around the longest value. The fields of a write need about a third of it.
    static let envelopeBytesMax = 4_096
    /// Bytes of a key or a pattern.
    public static let keyBytesMax = 256
    /// How deep arrays and objects nest within one value; `[` alone is 1.
    public static let depthMax = 64
    /// Bytes of a value, as a request has it and as a patch or an add leaves it.
    public static let valueBytesMax = 1_048_576
    /// Digits of a number that is added, and of the sum, written without an exponent.
    public static let sumDigitsMax = 128
    /// Bytes of a request's `id`, between the quotes as written.
    public static let idBytesMax = 64
    /// Bytes of a client's name.
    public static let nameBytesMax = 64
    /// Bytes of a write's `origin`, between the quotes as written.
    public static let originBytesMax = 128
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
    /// Lines that one `step` allows.
    public static let stepsMax = 1_000_000
    /// Milliseconds of a call's `timeout`: an hour.
    public static let timeoutMax = 3_600_000
    /// Milliseconds of `grace`: an hour.
    public static let graceMax = 3_600_000
    /// Names whose clients are gone and may come back within their `grace`.
    public static let absencesMax = 4_096
    /// Calls of one client that wait for their answers at the same time.
    public static let callsMax = 1_024
    /// Keys and patterns that one client serves.
    public static let servicesMax = 1_024
    /// Clients that wait in line to serve one key or pattern.
    public static let sparesMax = 16
    /// Milliseconds that a call waits if it has no `timeout`.
    public static let timeoutDefault = 5_000
    /// Bytes of the `code` in a server's error.
    public static let codeBytesMax = 64
    /// Fields of one envelope, known and unknown ones together.
    public static let fieldsMax = 32
    /// JSON Pointers of one `fields`, or of one `where`. A bit for each fits in a machine word.
    public static let pointersMax = 64
    /// Bytes of a JSON Pointer, after JSON's escapes are decoded.
    public static let pointerBytesMax = 256
    /// Bytes of a `where`, as written.
    public static let whereBytesMax = 16_384
    /// Operators with their operands in one `where`.
    public static let conditionsMax = 64
    /// Values in an `in` of a `where`.
    public static let choicesMax = 256
    /// Keys in one reply to `keys`.
    public static let pageKeysMax = 10_000
    /// Keys in a reply to `keys` without a `limit`.
    public static let pageKeysDefault = 1_000
    /// Steps in a reply to `why` without a `limit`.
    public static let chainStepsDefault = 100
    /// Steps that finding the observers of a key may take for the patterns of one user, and finding its server
    /// for all patterns that are served. A step is a token of a pattern, which many patterns may share.
    public static let patternStepsMax = 1_024
    /// Observers in one reply to `who`.
    public static let listedObserversMax = 1_000
    /// Services in the value of `$broker.services`.
    public static let listedServicesMax = 1_000
    /// How many observers one line names, if another observer waits for their `ack`.
    public static let awaitedObserversMax = 8
    /// Clients that a line names because they haven't acknowledged in time.
    public static let lateNamesMax = 64
    /// Connections at the same time.
    public static let clientsMax = 16_384
    /// Bytes that may wait in the broker for a client that doesn't read.
    public static let outboxBytesMax = 4_194_304
    /// If a client has more unread bytes than this, new events are owed to it instead of queued.
    public static let highWaterBytes = 1_048_576
    /// If a client has fewer unread bytes than this, it gets what it is owed.
    public static let lowWaterBytes = 262_144
    /// Bytes of lines for one client that wait besides the outbox: emits, and updates with `delivery`
    /// "all".
    public static let queueBytesMax = 1_048_576
    /// Keys owed to one client, over all its subscriptions.
    public static let owedKeysMax = 4_194_304
    /// Keys that a subscription with `every` was sent lately. Past that, all its events wait for the end of that time.
    public static let windowKeysMax = 65_536
    /// Bytes that wait for all clients without a quota together to read.
    public static let commonOwedBytesMax = 1_073_741_824
    /// Of the bytes that wait for several clients to read, so many are kept once for all of them, and count for none.
    /// What is more is copied for each of them, and counts.
    public static let sharedOwedBytesMax = 268_435_456
    /// Bytes of values before, kept for all who are told later what they became: for `old`, `where`, `fields` and `diff`.
    public static let oldBytesMax = 67_108_864
    /// Bytes of requests that all clients without a quota together have sent in part.
    public static let commonPartialBytesMax = 268_435_456
    /// Durable writes of one client that wait for the disk at the same time.
    public static let durablesMax = 16_384
    /// Lines in a row that are over the limit, before the broker closes the connection.
    public static let overlongLinesMax = 64
    /// The largest magnitude of an integer in an envelope: 2^53 − 1 (RFC 7493, section 2.2).
    public static let integerMax: UInt64 = 9_007_199_254_740_991

    /// The limits in the greeting, with their names there.
    public static let announced: [(name: String, value: Int)] = [
        ("line", lineBytesMax),
        ("key", keyBytesMax),
        ("depth", depthMax),
        ("value", valueBytesMax),
        ("digits", sumDigitsMax),
        ("id", idBytesMax),
        ("name", nameBytesMax),
        ("origin", originBytesMax),
        ("sub", subBytesMax),
        ("patterns", patternsMax),
        ("steps", patternStepsMax),
        ("subscriptions", subscriptionsMax),
        ("batch", batchWritesMax),
        ("fields", fieldsMax),
        ("page", pageKeysMax),
        ("calls", callsMax),
        ("services", servicesMax),
        ("spares", sparesMax),
        ("timeout", timeoutMax),
        ("grace", graceMax),
        ("absences", absencesMax),
        ("code", codeBytesMax),
        ("clients", clientsMax),
        ("outbox", outboxBytesMax),
        ("queue", queueBytesMax),
        ("owed", owedKeysMax),
        ("durables", durablesMax),
        ("overlong", overlongLinesMax),
    ]
}

/// The version of the protocol and of this build.
public enum ProtocolVersion {
    /// The number of the protocol. It changes only if old clients would break.
    public static let number = 1
    /// The version of the project.
    public static let software = "0.1.0"
    /// The words of the greeting's `features` in alphabetical order: abilities that a client may check
    /// for. Those of operations are in their table.
    public static let features =
        ([
            "cause", "delivery", "diff", "durable", "emits", "every", "field", "fields", "grace", "if",
            "initial", "live", "old", "only", "origin", "phase", "shorthand", "since", "spare", "ttl",
            "values", "when", "where", "while",
        ] + Operation.features).sorted()
}
