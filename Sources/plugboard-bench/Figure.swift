// What is measured, with its unit, and the figures of several runs. A figure always has its smallest and
// its largest value, so that nobody takes noise for a difference.

/// A quantity that is measured.
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
    case bytesPerKey
    /// Bytes that the server had written to files, also those that another write or a removal took back before they
    /// were on disk.
    case bytesToDiskPerMessage
    /// The size of the broker's journal at the end.
    case folderBytes
    /// How often the server allocated memory.
    case allocationsPerMessage
    case startMilliseconds
    case longestRoundTripMilliseconds
    /// How much the server's memory grew while one observer didn't read.
    case bytesOfStopped
    /// Lines per changed key that this observer got when it read again, without lines that were in its
    /// socket already.
    case linesPerKeyAfterWaking

    /// Whether more of it is better.
    var isGain: Bool { self == .messagesPerSecond }

    /// The unit after a number.
    var unit: String {
        switch self {
        case .messagesPerSecond: "messages/s"
        case .roundTripP50Microseconds: "µs"
        case .bytesPerConnection, .bytesPerKey: "bytes"
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

    /// Nil if there are no values.
    init?(of values: [Double]) {
        let sorted = values.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        least = first
        most = last
        median = Figure.quantile(0.5, ofSorted: sorted)
    }

    /// The quantile at `part`, between 0 and 1, interpolated between two values if necessary. 0 if there
    /// are no values.
    static func quantile(_ part: Double, ofSorted sorted: [Double]) -> Double {
        guard let last = sorted.indices.last else { return 0 }
        let place = part * Double(last)
        let below = Int(place)
        let above = min(below + 1, last)
        return sorted[below] + (sorted[above] - sorted[below]) * (place - Double(below))
    }
}

/// A system's values for a workload, one for each run.
struct Samples: Sendable {
    private(set) var values: [Metric: [Double]] = [:]

    mutating func append(_ run: [Metric: Double]) {
        for (quantity, value) in run { values[quantity, default: []].append(value) }
    }

    /// Adds runs that were made later.
    mutating func add(_ later: Samples) {
        for (quantity, values) in later.values { self.values[quantity, default: []] += values }
    }

    /// Nil if the quantity wasn't measured.
    func figure(_ quantity: Metric) -> Figure? {
        values[quantity].flatMap(Figure.init)
    }

    /// The ratio of a quantity to that in `other`: the median over pairs of runs that followed each
    /// other.
    func ratio(_ quantity: Metric, to other: Samples) -> Double? {
        guard let ours = values[quantity], let theirs = other.values[quantity] else { return nil }
        return Figure(of: zip(ours, theirs).filter { $0.1 > 0 }.map { $0.0 / $0.1 })?.median
    }
}
