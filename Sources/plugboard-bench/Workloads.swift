// The rows of the bench, in the order of the table. A new row needs only a few lines here. Names are
// unique, because `--only` and the goals find rows by name.

enum Workloads {
    /// With `--memory`: nothing is on disk but in the rows that are about it.
    static let inMemory: [Workload] =
        publishing + fanOut + mixed + matching + options + durable + latency + resting

    /// All that is sent is kept, as far as the system can, as usual.
    static let usual = inMemory.map(\.asUsual) + sustained

    /// Nobody observes.
    static let publishing = [
        Workload(name: "publish", batch: 256),
        Workload(name: "publish-batches-of-16", batch: 16),
        Workload(name: "publish-16B", valueBytes: 16, batch: 256),
        Workload(name: "publish-1KiB", valueBytes: 1024, batch: 32),
        Workload(name: "publish-16KiB", valueBytes: 16_384, batch: 4),
        Workload(name: "publish-other-lengths", changesLength: true, batch: 256),
        Workload(name: "publish-acknowledged", isAcknowledged: true, batch: 256),
        Workload(name: "publish-100000-keys", keys: 100_000, batch: 256),
    ]

    /// One key with many observers, and many publishers with one observer.
    static let fanOut = [
        Workload(name: "1→1", observers: 1),
        Workload(name: "1→10", observers: 10),
        Workload(name: "1→100", observers: 100),
        Workload(name: "1→1000", observers: 1000, batch: 16),
        Workload(name: "1→100-16B", valueBytes: 16, observers: 100),
        Workload(name: "1→100-1KiB", valueBytes: 1024, observers: 100, batch: 32),
        Workload(name: "1→100-16KiB", valueBytes: 16_384, observers: 100, batch: 4),
        Workload(name: "1→10-batches-of-16", observers: 10, batch: 16),
        Workload(name: "8→1", publishers: 8, observers: 1, keys: 8, batch: 16),
    ]

    /// Real traffic: 5,000 keys of unequal lengths in an order without a rule, and lines of unequal lengths and shapes.
    static let mixed = [("mixed", MixedTraffic.Spelling.compact), ("mixed-spaced", .spaced)].flatMap {
        name,
        spelling in
        [("", 0, 256), ("-1→1", 1, 64), ("-1→10", 10, 64)].map { suffix, observers, batch in
            Workload(
                name: name + suffix,
                mixed: spelling,
                observers: observers,
                keys: 5_000,
                isShuffled: true,
                batch: batch
            )
        }
    }

    /// Many subscriptions, few of which match.
    static let matching = [
        Workload(name: "1-pattern", observers: 1, interest: .patterns(1, matching: 1)),
        Workload(name: "1000-patterns-1-matches", observers: 1, interest: .patterns(1000, matching: 1)),
        Workload(
            name: "1000-patterns-10-match", observers: 1, interest: .patterns(1000, matching: 10), batch: 16
        ),
        // Each message is 500 lines for one observer, which must keep up. The broker takes no more such patterns of a
        // client: finding who observes a key would take too many steps.
        Workload(
            name: "500-patterns-all-match",
            observers: 1,
            interest: .patterns(500, matching: 500),
            batch: 1,
            window: 2
        ),
        Workload(name: "100000-subscriptions", observers: 1, keys: 100_000),
    ]

    /// What only this project's broker has. Each option is measured beside the same row without it.
    static let options = told + toldOtherLengths + written + beside

    /// The rows in which each observer asks for something else, with values of which none has the shape of the one
    /// before.
    private static let toldOtherLengths =
        told.filter { $0.name.hasSuffix("-different") }
        .map { row in
            Workload(
                name: row.name + "-other-lengths",
                changesLength: true,
                observers: row.observers,
                subscribing: row.subscribing
            )
        }

    /// Options of observers. Each value has a number of its own at its end.
    private static let told =
        [
            ("values-false", #""values":false"#, true), ("old", #""old":true"#, true),
            ("delivery-all", #""delivery":"all""#, true),
            ("every", #""every":20"#, false),
            ("where-all-match", #""where":{"/price":{"<":100}}"#, true),
            ("where-none-match", #""where":{"/price":{"<":10}}"#, false),
            ("fields", #""fields":["/n"]"#, true), ("fields-unchanged", #""fields":["/price"]"#, false),
            ("diff", #""diff":true"#, true),
            // Each observer asks for something else.
            ("where-different", ##""where":{"/price":{"<":10#}}"##, true),
            ("fields-different", ##""fields":["/n","/f#"]"##, true),
            ("diff-different", ##""where":{"/price":{"<":10#}},"diff":true"##, true),
        ].map { name, members, tellsEach in
            Workload(name: "1→10-\(name)", observers: 10, subscribing: members, tellsEach: tellsEach)
        }

    /// Options of writes.
    private static let written = [
        ("while", #""while":"connected""#), ("ttl", #""ttl":60000"#), ("cause", #""cause":1"#),
    ].map { Workload(name: "publish-\($0)", writing: $1, batch: 256) }

    /// Options that concern other clients or answers.
    private static let beside = [
        Workload(
            name: "1→10-one-stopped",
            observers: 10,
            keys: 100,
            bystander: .init(request: #"{"op":"subscribe","key":"bench.*","initial":false}"#, reads: false)
        ),
        Workload(
            name: "1→10-traced",
            observers: 10,
            bystander: .init(request: #"{"op":"trace","key":"bench.*"}"#, reads: true)
        ),
        Workload(
            name: "round-trip-10-phase-ack",
            measure: .roundTrip,
            observers: 10,
            acknowledging: #""phase":1,"ack":true"#,
            batch: 1,
            window: 1
        ),
        Workload(
            name: "round-trip-call", measure: .roundTrip, observers: 1, operation: .call, batch: 1, window: 1
        ),
    ]

    /// Writers that wait for the disk after each write or each batch.
    static let durable = [(1, 1), (16, 1), (256, 1), (256, 16)].map { writers, batch in
        Workload(
            name: "durable-\(writers)" + (batch > 1 ? "-batches-of-\(batch)" : ""),
            publishers: writers,
            keys: writers,
            keeping: .durable,
            isAcknowledged: true,
            batch: batch,
            window: 1
        )
    }

    /// A minute with a journal, and its ten parts.
    static let sustained = [("publish", 0, 256), ("1→1", 1, 64)].map { name, observers, batch in
        Workload(
            name: "sustained-" + name,
            observers: observers,
            keeping: .journal,
            isSustained: true,
            batch: batch
        )
    }

    /// One message at a time.
    static let latency = [
        Workload(name: "round-trip-1", measure: .roundTrip, observers: 1, batch: 1, window: 1),
        Workload(name: "round-trip-100", measure: .roundTrip, observers: 100, batch: 1, window: 1),
    ]

    /// Rows in which nothing is sent, or in which something else counts.
    static let resting = [
        Workload(name: "idle-connection", measure: .idle(connections: 10_000)),
        // Keys of 22 bytes.
        Workload(name: "300000-keys", measure: .keys, keys: 300_000, keyDigits: 15, batch: 256),
        Workload(name: "start", measure: .startUp),
        Workload(
            name: "recovery-1000000-keys", measure: .recovery, keys: 1_000_000, keeping: .journal, batch: 256
        ),
        Workload(
            name: "snapshot-1000000-keys", measure: .snapshot, keys: 1_000_000, keeping: .journal, window: 1
        ),
    ]
}
