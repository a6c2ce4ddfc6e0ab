// The rows of the bench, in the order of the table.

/// All rows.
enum Workloads {
    static let all: [Workload] = publishing + fanOut + matching + options + keeping + latency + resting

    /// Nobody observes.
    static let publishing: [Workload] = [
        Workload("publish").with { $0.batch = 256 },
        Workload("publish-batches-of-16").with { $0.batch = 16 },
        Workload("publish-16B").with {
            $0.valueBytes = 16
            $0.batch = 256
        },
        Workload("publish-1KiB").with {
            $0.valueBytes = 1024
            $0.batch = 32
        },
        Workload("publish-16KiB").with {
            $0.valueBytes = 16_384
            $0.batch = 4
        },
        Workload("publish-acknowledged").with {
            $0.isAcknowledged = true
            $0.batch = 256
        },
        Workload("publish-100000-keys").with {
            $0.keys = 100_000
            $0.batch = 256
        },
    ]

    /// One key, many observers; many writers, one observer.
    static let fanOut: [Workload] = [
        Workload("1→1").with { $0.observers = 1 },
        Workload("1→10").with { $0.observers = 10 },
        Workload("1→100").with { $0.observers = 100 },
        Workload("1→1000").with {
            $0.observers = 1000
            $0.batch = 16
        },
        Workload("1→100-16B").with {
            $0.observers = 100
            $0.valueBytes = 16
        },
        Workload("1→100-1KiB").with {
            $0.observers = 100
            $0.valueBytes = 1024
            $0.batch = 32
        },
        Workload("1→100-16KiB").with {
            $0.observers = 100
            $0.valueBytes = 16_384
            $0.batch = 4
        },
        Workload("1→10-batches-of-16").with {
            $0.observers = 10
            $0.batch = 16
        },
        Workload("8→1").with {
            $0.publishers = 8
            $0.keys = 8
            $0.observers = 1
            $0.batch = 16
        },
    ]

    /// Many subscriptions, few of which match.
    static let matching: [Workload] = [
        Workload("1-pattern").with {
            $0.observers = 1
            $0.interest = .patterns(1, matching: 1)
        },
        Workload("1000-patterns-1-matches").with {
            $0.observers = 1
            $0.interest = .patterns(1000, matching: 1)
        },
        Workload("1000-patterns-10-match").with {
            $0.observers = 1
            $0.interest = .patterns(1000, matching: 10)
            $0.batch = 16
        },
        Workload("1000-patterns-all-match").with {
            $0.observers = 1
            $0.interest = .patterns(1000, matching: 1000)
            $0.batch = 1
            // Each message is a thousand lines for one observer, which must not fall behind.
            $0.window = 2
        },
        Workload("100000-subscriptions").with {
            $0.observers = 1
            $0.keys = 100_000
        },
    ]

    /// What only this project's broker has: each beside the same row without it.
    static let options: [Workload] = told + written + beside

    /// What an observer asks for. Values end with a number that each has for itself.
    private static let told: [Workload] =
        [
            ("values-false", #""values":false"#, true), ("old", #""old":true"#, true),
            ("delivery-all", #""delivery":"all""#, true),
            ("every", #""every":20"#, false),
            ("where-all-match", #""where":{"/price":{"<":100}}"#, true),
            ("where-none-match", #""where":{"/price":{"<":10}}"#, false),
            ("fields", #""fields":["/n"]"#, true), ("fields-unchanged", #""fields":["/price"]"#, false),
            ("diff", #""diff":true"#, true),
        ].map { name, members, tellsEach in
            Workload("1→10-\(name)").with {
                $0.observers = 10
                $0.subscribing = members
                $0.tellsEach = tellsEach
            }
        }

    /// What a write says beside its value.
    private static let written: [Workload] = [
        ("while", #""while":"connected""#), ("ttl", #""ttl":60000"#), ("cause", #""cause":1"#),
    ].map { name, members in
        Workload("publish-\(name)").with {
            $0.writing = members
            $0.batch = 256
        }
    }

    /// What else goes on, or has to.
    private static let beside: [Workload] = [
        Workload("1→10-one-stopped").with {
            $0.observers = 10
            $0.keys = 100
            $0.bystander = Workload.Bystander(
                request: #"{"op":"subscribe","key":"bench.*","initial":false}"#,
                reads: false
            )
        },
        Workload("1→10-traced").with {
            $0.observers = 10
            $0.bystander = Workload.Bystander(request: #"{"op":"trace","key":"bench.*"}"#, reads: true)
        },
        Workload("round-trip-10-phase-ack").with {
            $0.measure = .roundTrip
            $0.observers = 10
            $0.acknowledging = #""phase":1,"ack":true"#
            $0.batch = 1
            $0.window = 1
        },
        Workload("round-trip-call").with {
            $0.measure = .roundTrip
            $0.observers = 1
            $0.operation = .call
            $0.batch = 1
            $0.window = 1
        },
    ]

    /// What is kept on disk: a journal beside none, and writers that wait for the disk with
    /// each write, or with some.
    static let keeping: [Workload] =
        [
            Workload("publish-journal").with {
                $0.keeping = .journal
                $0.batch = 256
            },
            Workload("1→10-journal").with {
                $0.keeping = .journal
                $0.observers = 10
            },
        ]
        + [(1, 1), (16, 1), (256, 1), (256, 16)].map { writers, batch in
            Workload("durable-\(writers)" + (batch > 1 ? "-batches-of-\(batch)" : "")).with {
                $0.keeping = .durable
                $0.publishers = writers
                $0.keys = writers
                $0.isAcknowledged = true
                $0.batch = batch
                $0.window = 1
            }
        }

    /// One message at a time.
    static let latency: [Workload] = [
        Workload("round-trip-1").with {
            $0.measure = .roundTrip
            $0.observers = 1
            $0.batch = 1
            $0.window = 1
        },
        Workload("round-trip-100").with {
            $0.measure = .roundTrip
            $0.observers = 100
            $0.batch = 1
            $0.window = 1
        },
    ]

    /// Nothing is sent.
    static let resting: [Workload] = [
        Workload("idle-connection").with { $0.measure = .idle(connections: 10_000) },
        Workload("start").with { $0.measure = .startUp },
        Workload("recovery-1000000-keys").with {
            $0.measure = .recovery
            $0.keeping = .journal
            $0.keys = 1_000_000
            $0.batch = 256
        },
        Workload("snapshot-1000000-keys").with {
            $0.measure = .snapshot
            $0.keeping = .journal
            $0.keys = 1_000_000
            $0.batch = 64
            $0.window = 1
        },
    ]
}
