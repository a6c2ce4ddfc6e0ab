// What is measured, with its unit, and the figures that several runs give
// together. A figure always has its smallest and largest value, so that nobody
// takes noise for a difference.

/// A quantity of the table.
enum Metric: String, CaseIterable, Sendable {
    case messagesPerSecond
    case cpuNanosecondsPerMessage
    case cpuNanosecondsPerDelivery
    /// Messages for each `read` of the server.
    case messagesPerRead
    case generatorNanosecondsPerMessage
    case roundTripP50Microseconds
    case roundTripP99Microseconds
    case roundTripP999Microseconds
    case bytesPerConnection
    /// How often the server allocated memory.
    case allocationsPerMessage
    case startMilliseconds
    case longestRoundTripMilliseconds
    /// How much the server's memory grew while one observer didn't read.
    case bytesOfStopped
    /// Lines per changed key that it got when it read again, without those that were already on
    /// their way.
    case linesPerKeyAfterWaking

    /// More of it is better.
    var isGain: Bool { self == .messagesPerSecond }

    /// The unit after a number.
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

/// The median of several runs, with the smallest and the largest value.
struct Figure: Equatable, Sendable {
    let median: Double
    let least: Double
    let most: Double

    /// Nil for no values.
    init?(of values: [Double]) {
        let sorted = values.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        least = first
        most = last
        median = Figure.quantile(0.5, ofSorted: sorted)
    }

    /// The value below which this part of the values is, interpolated between two of them if
    /// necessary; 0 for no values.
    static func quantile(_ part: Double, ofSorted sorted: [Double]) -> Double {
        guard let last = sorted.indices.last else { return 0 }
        let place = part * Double(last)
        let below = Int(place)
        let above = min(below + 1, last)
        return sorted[below] + (sorted[above] - sorted[below]) * (place - Double(below))
    }
}

/// One system's values for one workload, one for each run.
struct Samples: Sendable {
    private(set) var values: [Metric: [Double]] = [:]

    mutating func append(_ run: [Metric: Double]) {
        for (quantity, value) in run { values[quantity, default: []].append(value) }
    }

    /// Nil if this quantity wasn't measured.
    func figure(_ quantity: Metric) -> Figure? {
        values[quantity].flatMap(Figure.init)
    }

    /// How many times as much there is as in `other`: the median over pairs of runs that were made
    /// one after the other.
    func ratio(_ quantity: Metric, to other: Samples) -> Double? {
        guard let ours = values[quantity], let theirs = other.values[quantity] else { return nil }
        return Figure(of: zip(ours, theirs).filter { $0.1 > 0 }.map { $0.0 / $0.1 })?.median
    }
}
