// What a message costs as something grows, by powers of ten. A series is a row of the
// bench for each size, so it is measured and shown by what measures and shows rows.

/// One thing that grows.
struct Growth: Sendable {
    /// Short, unique, what `--only` looks for.
    let name: String
    /// What there is ever more of.
    let what: String
    /// Of which flat is the goal.
    let quantity: Metric
    let sizes: [Int]
    let workload: @Sendable (_ size: Int) -> Workload

    /// What a cost of it is the cost of.
    var cost: String { quantity == .cpuNanosecondsPerDelivery ? "delivery" : "message" }
}

/// All series, in the order of the report.
enum Growths {
    static var names: String { all.map(\.name).joined(separator: " ") }

    static let all: [Growth] = [
        Growth(
            name: "growth-keys",
            what: "keys, published in turn, not observed",
            quantity: .cpuNanosecondsPerMessage,
            sizes: [10, 100, 1000, 10_000, 100_000, 1_000_000]
        ) { Workload(name: "growth-keys-\($0)", keys: $0, batch: 256) },
        Growth(
            name: "growth-connections",
            what: "connections with a subscription each, one of which observes what is published",
            quantity: .cpuNanosecondsPerMessage,
            sizes: [1, 10, 100, 1000, 10_000]
        ) { Workload(name: "growth-connections-\($0)", observers: 1, connectionsAtRest: $0 - 1) },
        Growth(
            name: "growth-observers",
            what: "connections that all observe what is published",
            quantity: .cpuNanosecondsPerDelivery,
            sizes: [1, 10, 100, 1000, 10_000]
        ) { Workload(name: "growth-observers-\($0)", observers: $0, batch: 8) },
    ]
}

/// A measured series.
struct GrowthRows: Sendable {
    let growth: Growth
    /// One for each size, in their order.
    let rows: [Row]

    /// The systems that were measured from the smallest size on, if not at all of them.
    var systems: [String] { (rows.first?.systems ?? []).map(\.system) }

    /// A system's figures, one for each size; nil where it wasn't measured.
    func figures(of system: String) -> [Figure?] {
        rows.map { $0.samples(of: system)?.figure(growth.quantity) }
    }

    /// How many times its lowest cost a system's highest cost is: 1 is flat.
    func factor(of system: String) -> Double? {
        let medians = figures(of: system).compactMap(\.?.median)
        guard let least = medians.min(), let most = medians.max(), least > 0 else { return nil }
        return most / least
    }
}
