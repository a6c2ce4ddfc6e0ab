// How times are measured, and printed beside their budgets.

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Collects the rows of one run.
struct Report {
    private var isWithinBudgets = true

    /// A ratio or a time, and the most or the least that it may be.
    mutating func row(_ name: String, _ figure: Double, _ unit: String, atMost: Double) {
        write(name, figure, unit, "at most \(text(atMost))", figure <= atMost)
    }

    mutating func row(_ name: String, _ figure: Double, _ unit: String, atLeast: Double) {
        write(name, figure, unit, "at least \(text(atLeast))", figure >= atLeast)
    }

    /// A figure without a budget.
    func row(_ name: String, _ figure: Double, _ unit: String) {
        print(pad(name, 64), pad(text(figure) + unit, 9), pad("", 13), "shown")
    }

    func end() -> Never { exit(isWithinBudgets ? 0 : 1) }

    private mutating func write(
        _ name: String,
        _ figure: Double,
        _ unit: String,
        _ budget: String,
        _ isWithin: Bool
    ) {
        isWithinBudgets = isWithinBudgets && isWithin
        print(pad(name, 64), pad(text(figure) + unit, 9), pad(budget, 13), isWithin ? "holds" : "missed")
    }

    private func text(_ number: Double) -> String { "\((number * 10).rounded() / 10)" }

    private func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

/// Nanoseconds of processor time for one round of each body: the medians of nine turns, in which the bodies
/// alternate, because other programs use the machine, too.
func nanoseconds(_ rounds: Int, _ bodies: [(Int) -> Void]) -> [Double] {
    var times = bodies.map { _ in [Double]() }
    for _ in 0..<9 {
        for (index, body) in bodies.enumerated() {
            let start = processorTime()
            for round in 0..<rounds { body(round) }
            times[index].append((processorTime() - start) / Double(rounds))
        }
    }
    return times.map { $0.sorted()[4] }
}

/// What this thread has used so far, in nanoseconds.
private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}
