// What is measured, with its unit, and what several runs of it come to.

/// A quantity of the table.
enum Metric: String, CaseIterable, Sendable {
    case messagesPerSecond
    case cpuNanosecondsPerMessage
    case cpuNanosecondsPerDelivery
    /// Messages for each `read` of the server's.
    case messagesPerRead
    case generatorNanosecondsPerMessage
    case roundTripP50Microseconds
    case roundTripP99Microseconds
    case roundTripP999Microseconds
    case bytesPerConnection
    /// How often the server asked for memory.
    case allocationsPerMessage
    case startMilliseconds
    case longestRoundTripMilliseconds
    /// By how much the server's memory grew while one observer didn't read.
    case bytesOfStopped
    /// Lines for each changed key that it was told when it read again, beside what had been on its way.
    case linesPerKeyAfterWaking

    /// More of it is better.
    var isGain: Bool { self == .messagesPerSecond }

    /// As it stands behind a number.
    var unit: String {
        switch self {
        case .messagesPerSecond: "messages/s"
        case .roundTripP50Microseconds: "µs"
        case .bytesPerConnection: "bytes"
        case .startMilliseconds, .longestRoundTripMilliseconds: "ms"
        default: rawValue
        }
    }
}

/// The median of several runs, with the least and the most.
struct Figure: Equatable, Sendable {
    let median: Double
    let least: Double
    let most: Double

    /// Nil of nothing.
    init?(of values: [Double]) {
        let sorted = values.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        least = first
        most = last
        median = Figure.quantile(0.5, ofSorted: sorted)
    }

    /// The value below which that part of them lies, between two values where it must;
    /// 0 of nothing.
    static func quantile(_ part: Double, ofSorted sorted: [Double]) -> Double {
        guard let last = sorted.indices.last else { return 0 }
        let place = part * Double(last)
        let below = Int(place)
        let above = min(below + 1, last)
        return sorted[below] + (sorted[above] - sorted[below]) * (place - Double(below))
    }
}

/// One system's values of one workload, a value for each run.
struct Samples: Sendable {
    private(set) var values: [Metric: [Double]] = [:]

    mutating func append(_ run: [Metric: Double]) {
        for (quantity, value) in run { values[quantity, default: []].append(value) }
    }

    /// Nil where this quantity wasn't measured.
    func figure(_ quantity: Metric) -> Figure? {
        values[quantity].flatMap(Figure.init)
    }

    /// How many times as much of it there is as in `other`: the median over pairs of
    /// runs, which were made one after the other.
    func ratio(_ quantity: Metric, to other: Samples) -> Double? {
        guard let ours = values[quantity], let theirs = other.values[quantity] else { return nil }
        return Figure(of: zip(ours, theirs).filter { $0.1 > 0 }.map { $0.0 / $0.1 })?.median
    }
}
