// The figures to reach: what has to hold of a bench, and what it is hoped for. Each is
// a ratio within one report where it can be, since machines differ.

/// What one figure must not exceed, or must reach.
struct Goal: Sendable {
    enum Bound: Sendable {
        case atMost(Double)
        case atLeast(Double)
        /// Shown only.
        case none

        var text: String {
            switch self {
            case .atMost(let most): "≤ \(Digits.short(most))"
            case .atLeast(let least): "≥ \(Digits.short(least))"
            case .none: "–"
            }
        }

        /// Small enough that its third digit decides.
        var isClose: Bool {
            switch self {
            case .atMost(let value), .atLeast(let value): value < 10
            case .none: false
            }
        }

        var isBound: Bool {
            if case .none = self { false } else { true }
        }

        func holds(_ value: Double) -> Bool {
            switch self {
            case .atMost(let most): value <= most
            case .atLeast(let least): value >= least
            case .none: true
            }
        }
    }

    /// What of which workload, and in which unit.
    let what: String
    let must: Bound
    let aim: Bound
    /// Nil where the report has no such figure.
    let measure: @Sendable (Report) -> Double?

    /// What a report came to.
    enum Verdict: String, Sendable {
        case holds
        case missed
        case notMeasured = "not measured"
        /// There is no bound for it.
        case shown
    }

    func verdict(_ value: Double?) -> Verdict {
        guard let value else { return .notMeasured }
        if case .none = must { return .shown }
        return must.holds(value) ? .holds : .missed
    }
}

/// All of them.
enum Goals {
    static let all: [Goal] = rates + growing + keeping + resting

    private static let rates: [Goal] = [
        Goal("publish, no observer: CPU ns per message", most: 120, aim: 90) {
            $0.figure(.cpuNanosecondsPerMessage, "publish")
        },
        Goal("1→100: CPU per delivery, × the limit's", most: 1.6, aim: 1.2) {
            $0.timesLimit(.cpuNanosecondsPerDelivery, "1→100")
        },
        Goal("1→100: messages per second, × redis, same work", least: 3, aim: 4) {
            $0.ratio(.messagesPerSecond, "1→100", to: "redis SET+PUBLISH")
        },
        Goal("1→10: CPU per delivery, × the limit's", most: 2.5, aim: 1.5) {
            $0.timesLimit(.cpuNanosecondsPerDelivery, "1→10")
        },
        Goal("1→10: messages per second, × redis, same work", least: 2.8, aim: 5) {
            $0.ratio(.messagesPerSecond, "1→10", to: "redis SET+PUBLISH")
        },
        Goal("1→1: messages per second, × redis, same work", least: 3, aim: 5) {
            $0.ratio(.messagesPerSecond, "1→1", to: "redis SET+PUBLISH")
        },
        Goal("1→1: messages per second, × nats, plain publish", least: 1.2, aim: 2) {
            $0.ratio(.messagesPerSecond, "1→1", to: "nats publish")
        },
        Goal("one stopped observer among ten: messages per second, × without", least: 0.95) {
            $0.ratio(.messagesPerSecond, "1→10-one-stopped", to: PlugboardDialect.plainName)
        },
        Goal("one stopped observer: lines per changed key when it reads again", most: 1) {
            $0.figure(.linesPerKeyAfterWaking, "1→10-one-stopped")
        },
    ]

    private static let growing: [Goal] = [
        Goal("100,000 keys in turn: CPU per message, × one key's", most: 1.5, aim: 1.2) {
            $0.ratio(.cpuNanosecondsPerMessage, of: "publish-100000-keys", to: "publish")
        },
        Goal("1,000 patterns, one matches: CPU per message, × one pattern's", most: 1.3, aim: 1.1) {
            $0.ratio(.cpuNanosecondsPerMessage, of: "1000-patterns-1-matches", to: "1-pattern")
        },
    ]

    private static let keeping: [Goal] = [
        Goal("with a journal, 1→10: messages per second, × without", least: 0.8) {
            $0.ratio(.messagesPerSecond, "1→10-journal", to: PlugboardDialect.plainName)
        },
        Goal("with a journal, publish: messages per second, × without", must: .none, aim: .none) {
            $0.ratio(.messagesPerSecond, "publish-journal", to: PlugboardDialect.plainName)
        },
        Goal("256 durable writers: messages per second, × redis, synced always", least: 2, aim: 4) {
            $0.ratio(.messagesPerSecond, "durable-256", to: "redis SET+PUBLISH")
        },
        Goal(
            "256 durable writers, 16 writes at once: messages per second, × redis, synced always",
            must: .none,
            aim: .none
        ) {
            $0.ratio(.messagesPerSecond, "durable-256-batches-of-16", to: "redis SET+PUBLISH")
        },
        Goal("1 durable writer: messages per second, × redis, synced always", least: 1) {
            $0.ratio(.messagesPerSecond, "durable-1", to: "redis SET+PUBLISH")
        },
        Goal("1,000,000 kept keys: ms from the start to the first reply", most: 2000, aim: 700) {
            $0.figure(.startMilliseconds, "recovery-1000000-keys")
        },
        Goal("a snapshot of 1,000,000 keys under load: longest wait for an answer, ms", most: 5) {
            $0.figure(.longestRoundTripMilliseconds, "snapshot-1000000-keys")
        },
    ]

    private static let resting: [Goal] =
        [("1 observer", "round-trip-1"), ("100 observers", "round-trip-100")].flatMap { who, workload in
            [
                Goal("round trip, \(who): p50, × the limit's", most: 1.1) {
                    $0.timesLimit(.roundTripP50Microseconds, workload)
                },
                Goal("round trip, \(who): p99, × the limit's", most: 1.3, aim: 1.1) {
                    $0.timesLimit(.roundTripP99Microseconds, workload)
                },
            ]
        } + [
            Goal("idle connection with one subscription: bytes", most: 819.2, aim: 512) {
                $0.figure(.bytesPerConnection, "idle-connection")
            },
            Goal("start to first reply, of a static build: ms", most: 5, aim: 2) {
                $0.machine.isDynamic ? nil : $0.figure(.startMilliseconds, "start")
            },
        ]
        + Growths.all.map { growth in
            Goal("\(growth.name): highest cost, × the lowest", must: .none, aim: .none) { report in
                report.growth.first { $0.growth.name == growth.name }?.factor(of: "plugboard")
            }
        }
}

extension Goal {
    init(_ what: String, most: Double, aim: Double? = nil, _ measure: @escaping @Sendable (Report) -> Double?)
    {
        self.init(what, must: .atMost(most), aim: aim.map { .atMost($0) } ?? .none, measure)
    }

    init(
        _ what: String,
        least: Double,
        aim: Double? = nil,
        _ measure: @escaping @Sendable (Report) -> Double?
    ) {
        self.init(what, must: .atLeast(least), aim: aim.map { .atLeast($0) } ?? .none, measure)
    }

    init(_ what: String, must: Bound, aim: Bound, _ measure: @escaping @Sendable (Report) -> Double?) {
        self.what = what
        self.must = must
        self.aim = aim
        self.measure = measure
    }
}

/// The broker's own figures in a report.
extension Report {
    fileprivate func figure(_ quantity: Quantity, _ workload: String) -> Double? {
        samples("plugboard", workload)?.figure(quantity)?.median
    }

    fileprivate func timesLimit(_ quantity: Quantity, _ workload: String) -> Double? {
        ratio(quantity, workload, to: "limit")
    }

    fileprivate func ratio(_ quantity: Quantity, _ workload: String, to system: String) -> Double? {
        guard let other = samples(system, workload) else { return nil }
        return samples("plugboard", workload)?.ratio(quantity, to: other)
    }

    /// Between two of its rows.
    fileprivate func ratio(_ quantity: Quantity, of workload: String, to other: String) -> Double? {
        guard let ours = figure(quantity, workload), let theirs = figure(quantity, other), theirs > 0 else {
            return nil
        }
        return ours / theirs
    }

    private func samples(_ system: String, _ workload: String) -> Samples? {
        rows.first { $0.workload.name == workload }?.samples(of: system)
    }
}
