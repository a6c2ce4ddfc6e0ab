// What a message costs while something grows by powers of ten. A series has a row for each size, so the
// code for rows measures and shows it.

/// A series: one thing that grows.
struct Growth: Sendable {
    /// A short, unique name, for `--only`.
    let name: String
    /// What grows.
    let what: String
    /// The quantity that should stay the same.
    let quantity: Metric
    let sizes: [Int]
    /// The highest cost may be so many times the lowest; nil if it is only shown.
    var most: Double?
    let workload: @Sendable (_ size: Int) -> Workload

    /// The unit of the cost.
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
            sizes: [10, 100, 1000, 10_000, 100_000, 1_000_000],
            most: 1.3
        ) { Workload(name: "growth-keys-\($0)", keys: $0, batch: 256) },
        Growth(
            name: "growth-keys-shuffled",
            what: "keys, published in any order, not observed",
            quantity: .cpuNanosecondsPerMessage,
            sizes: [10, 100, 1000, 10_000, 100_000, 1_000_000]
        ) { Workload(name: "growth-keys-shuffled-\($0)", keys: $0, isShuffled: true, batch: 256) },
        Growth(
            name: "growth-connections",
            what: "connections with a subscription each, one of which observes what is published",
            quantity: .cpuNanosecondsPerMessage,
            sizes: [1, 10, 100, 1000, 10_000],
            most: 1.2
        ) { Workload(name: "growth-connections-\($0)", observers: 1, connectionsAtRest: $0 - 1) },
        Growth(
            name: "growth-observers",
            what: "connections that all observe what is published",
            quantity: .cpuNanosecondsPerDelivery,
            sizes: [1, 10, 100, 1000, 10_000]
        ) { Workload(name: "growth-observers-\($0)", observers: $0, batch: 8) },
    ]
}

struct GrowthRows: Sendable {
    let growth: Growth
    /// One row for each size, in order.
    let rows: [Row]

    /// The systems that were measured at the smallest size. Some may lack larger sizes.
    var systems: [String] { (rows.first?.systems ?? []).map(\.system) }

    /// A system's figures, one for each size; nil if it wasn't measured.
    func figures(of system: String) -> [Figure?] {
        rows.map { $0.samples(of: system)?.figure(growth.quantity) }
    }

    /// A system's highest cost divided by its lowest. 1 means that the cost doesn't grow.
    func factor(of system: String) -> Double? {
        let medians = figures(of: system).compactMap(\.?.median)
        guard let least = medians.min(), let most = medians.max(), least > 0 else { return nil }
        return most / least
    }
}
