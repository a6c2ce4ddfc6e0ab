// The goals of a bench: limits that must hold, and aims that would be better still. If possible, a goal
// is a ratio within one report, because machines differ. A goal that wasn't measured is left out.

/// A goal for one figure.
struct Goal: Sendable {
    typealias Measure = @Sendable (Report) -> Double?

    struct Bound: Sendable {
        let value: Double
        /// Whether the figure must be at least this value; otherwise at most.
        let isLeast: Bool

        var text: String { (isLeast ? "≥ " : "≤ ") + Digits.short(value) }

        func holds(_ measured: Double) -> Bool { isLeast ? measured >= value : measured <= value }
    }

    /// The result for a report.
    enum Verdict: String, Sendable {
        case holds
        case missed
        /// There is no limit.
        case shown
    }

    /// What is measured, in which row and unit.
    let what: String
    /// The limit; nil if the figure is only shown.
    let must: Bound?
    let aim: Bound?
    /// Returns the figure; nil if the report doesn't have it.
    let measure: Measure

    /// A figure that must be at most `most`, or is only shown.
    init(_ what: String, most: Double? = nil, aim: Double? = nil, _ measure: @escaping Measure) {
        self.what = what
        self.measure = measure
        must = most.map { Bound(value: $0, isLeast: false) }
        self.aim = aim.map { Bound(value: $0, isLeast: false) }
    }

    /// A figure that must be at least `least`.
    init(_ what: String, least: Double, aim: Double? = nil, _ measure: @escaping Measure) {
        self.what = what
        self.measure = measure
        must = Bound(value: least, isLeast: true)
        self.aim = aim.map { Bound(value: $0, isLeast: true) }
    }

    func verdict(_ value: Double) -> Verdict {
        must.map { $0.holds(value) ? .holds : .missed } ?? .shown
    }

    /// The cells of its line in a table: name, figure, limit, aim, verdict.
    func cells(_ value: Double) -> [String] {
        // If the limit is small, the third decimal matters.
        let isClose = must.map { $0.value < 10 } ?? false
        let verdict = verdict(value)
        let isAimed = verdict == .holds && aim?.holds(value) == true
        return [
            what, isClose ? Digits.fixed(value, 3) : Digits.text(value), must?.text ?? "–", aim?.text ?? "–",
            verdict.rawValue + (isAimed ? ", and the aim" : ""),
        ]
    }
}

enum Goals {
    static let all: [Goal] = usual + load + asking + kept + resting

    /// The goals that were measured, with their figures.
    static func measured(in report: Report) -> [(goal: Goal, value: Double)] {
        all.compactMap { goal in goal.measure(report).map { (goal, $0) } }
    }

    private static let redis = "redis SET+PUBLISH"
    private static let without = PlugboardDialect.plainName
    private static let perMessage = Metric.cpuNanosecondsPerMessage
    private static let perDelivery = Metric.cpuNanosecondsPerDelivery

    /// In memory.
    private static let load = [
        Goal("publish, no observer: CPU ns per message", most: 120, aim: 90, figure(perMessage, "publish")),
        Goal("publish, no observer: CPU, × the limit's", most: 4.5, aim: 3, limit(perMessage, "publish")),
        Goal("1→100: CPU per delivery, × the limit's", most: 1.4, aim: 1.2, limit(perDelivery, "1→100")),
        Goal("1→100: messages per second, × redis, same work", least: 3, aim: 4, rate("1→100", redis)),
        Goal("1→10: CPU per delivery, × the limit's", most: 2.5, aim: 1.5, limit(perDelivery, "1→10")),
        Goal("1→10: messages per second, × redis, same work", least: 2.8, aim: 5, rate("1→10", redis)),
        Goal("1→1: messages per second, × redis, same work", least: 3, aim: 5, rate("1→1", redis)),
        Goal(
            "1→1: messages per second, × nats, plain publish", least: 1.2, aim: 2, rate("1→1", "nats publish")
        ),
        Goal(
            "one stopped observer among ten: messages per second, × without",
            least: 0.95,
            rate("1→10-one-stopped", without)
        ),
        Goal(
            "one stopped observer: lines per changed key when it reads again",
            most: 1,
            figure(.linesPerKeyAfterWaking, "1→10-one-stopped")
        ),
        Goal(
            "100,000 keys in turn: CPU per message, × one key's",
            most: 1.3,
            aim: 1.15,
            rows("publish-100000-keys", "publish")
        ),
        Goal(
            "1,000 patterns, one matches: CPU per message, × one pattern's",
            most: 1.3,
            aim: 1.1,
            rows("1000-patterns-1-matches", "1-pattern")
        ),
    ]

    /// In memory, ten observers that ask for ten different things.
    private static let asking = ["where", "fields", "diff"].map { option in
        Goal("ten different \(option): CPU per message, × without", most: 2) {
            $0.plainRow("1→10-\(option)-different")?.ratio(perMessage, "plugboard", to: without)
        }
    }

    /// The usual configuration, with a journal.
    private static let usual =
        ["publish", "1→1", "sustained-publish", "sustained-1→1"].map {
            Goal(
                "\($0), as usual: messages per second, × redis that syncs each second",
                least: 4.5,
                usually($0, redis)
            )
        }
        + ["mixed", "mixed-1→1", "mixed-spaced", "mixed-spaced-1→1"].map {
            Goal(
                "\($0), as usual: messages per second, × redis that syncs each second",
                least: 3,
                usually($0, redis)
            )
        }
        + [("publish", 0.65), ("1→1", 0.65), ("1→10", 0.9)].flatMap { row, share in
            [
                Goal("\(row), as usual: messages per second, × in memory", usually(row, without)),
                Goal(
                    "\(row), as usual: messages per second, × the lower of \(share) of those in memory and "
                        + "0.8 of what the disk takes",
                    least: 1,
                    reach(row, ofMemory: share, ofDisk: 0.8)
                ),
            ]
        }
        + [("publish", 2.6), ("1→1", 1.8)].map {
            Goal("\($0), as usual: CPU, × in memory", most: $1, usually($0, without, perMessage))
        }

    private static let kept = [
        Goal(
            "256 durable writers: messages per second, × redis, synced always",
            least: 1.8,
            aim: 4,
            rate("durable-256", redis)
        ),
        Goal(
            "256 durable writers: messages per second, × the limit's",
            least: 0.7,
            aim: 0.85,
            rate("durable-256", "limit")
        ),
        Goal(
            "256 durable writers, 16 writes at once: messages per second, × redis, synced always",
            rate("durable-256-batches-of-16", redis)
        ),
        Goal(
            "1 durable writer: messages per second, × redis, synced always",
            least: 1,
            rate("durable-1", redis)
        ),
        Goal(
            "1,000,000 kept keys: ms from the start to the first reply",
            most: 400,
            figure(.startMilliseconds, "recovery-1000000-keys")
        ),
        Goal(
            "a snapshot of 1,000,000 keys under load: longest wait for an answer, ms",
            most: 5,
            aim: 2,
            figure(.longestRoundTripMilliseconds, "snapshot-1000000-keys")
        ),
    ]

    private static let resting =
        [("1 observer", "round-trip-1"), ("100 observers", "round-trip-100")].flatMap { who, row in
            let (p50, p99) = (limit(.roundTripP50Microseconds, row), limit(.roundTripP99Microseconds, row))
            return [
                Goal("round trip, \(who): p50, × the limit's", most: 1.1, p50),
                Goal("round trip, \(who): p99, × the limit's", most: 1.1, p99),
            ]
        } + [
            Goal(
                "idle connection with one subscription: bytes",
                most: 700,
                aim: 512,
                figure(.bytesPerConnection, "idle-connection")
            ),
            Goal(
                "a key of 22 bytes and a value of 128: bytes", most: 300, figure(.bytesPerKey, "300000-keys")
            ),
            Goal("a key and its value: bytes, × redis's", aim: 1) {
                $0.row("300000-keys")?.ratio(.bytesPerKey, "plugboard", to: redis)
            },
            Goal("start to first reply, of a static build: ms", most: 5, aim: 2) {
                $0.machine.isDynamic ? nil : figure(.startMilliseconds, "start")($0)
            },
        ]
        + Growths.all.map { growth in
            Goal("\(growth.name): highest cost, × the lowest", most: growth.most) { report in
                report.growth.first { $0.growth.name == growth.name }?.factor(of: "plugboard")
            }
        } + [further]

    /// What each observer more costs, from ten on: the highest, divided by the lowest.
    private static let further = Goal(
        "each further observer, from 10 on: highest CPU, × the lowest", most: 1.3
    ) {
        report in
        let growth = report.growth.first { $0.growth.name == "growth-observers" }
        guard let growth else { return nil }
        let sizes = zip(growth.growth.sizes, growth.figures(of: "plugboard"))
        let costs = sizes.compactMap { size, figure in figure.map { (size, $0.median * Double(size)) } }
            .filter { $0.0 >= 10 }
        let each = zip(costs, costs.dropFirst()).map { ($1.1 - $0.1) / Double($1.0 - $0.0) }
        guard let least = each.min(), let most = each.max(), least > 0 else { return nil }
        return most / least
    }

    /// The broker's own figure.
    private static func figure(_ quantity: Metric, _ row: String) -> Goal.Measure {
        { $0.plainRow(row)?.samples(of: "plugboard")?.figure(quantity)?.median }
    }

    private static func limit(_ quantity: Metric, _ row: String) -> Goal.Measure {
        { $0.plainRow(row)?.ratio(quantity, "plugboard", to: "limit") }
    }

    private static func rate(_ row: String, _ system: String) -> Goal.Measure {
        { $0.plainRow(row)?.ratio(.messagesPerSecond, "plugboard", to: system) }
    }

    /// Of a row with a journal.
    private static func usually(
        _ row: String, _ system: String, _ quantity: Metric = .messagesPerSecond
    ) -> Goal.Measure {
        { $0.usualRow(row)?.ratio(quantity, "plugboard", to: system) }
    }

    /// The rate, divided by so much of the rate in memory, or of what the disk takes where that is lower.
    private static func reach(_ name: String, ofMemory: Double, ofDisk: Double) -> Goal.Measure {
        { report in
            guard let row = report.usualRow(name),
                let rate = row.samples(of: "plugboard")?.figure(.messagesPerSecond)?.median,
                let ratio = row.ratio(.messagesPerSecond, "plugboard", to: without)
            else { return nil }
            return max(ratio / ofMemory, row.diskMessagesPerSecond.map { rate / $0 / ofDisk } ?? 0)
        }
    }

    /// The CPU time of a message in one row, divided by that in another.
    private static func rows(_ row: String, _ other: String) -> Goal.Measure {
        { report in
            guard let ours = figure(perMessage, row)(report), let theirs = figure(perMessage, other)(report)
            else { return nil }
            return theirs > 0 ? ours / theirs : nil
        }
    }
}

extension Report {
    /// A row that was measured with the usual journal.
    fileprivate func usualRow(_ name: String) -> Row? {
        row(name).flatMap { $0.workload.keeping == .journal ? $0 : nil }
    }

    /// A row that was measured without the usual journal.
    fileprivate func plainRow(_ name: String) -> Row? {
        row(name).flatMap { $0.workload.isLoad && $0.workload.keeping == .journal ? nil : $0 }
    }
}
