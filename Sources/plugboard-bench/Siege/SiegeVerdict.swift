// Judges what a siege has measured. A row holds if every run of it does. CPU is shown and not judged:
// from outside, only the CPU of a whole wait can be seen, and several steps may lie in it.

extension SiegeRun {
    /// More memory than before that doesn't count: what an allocator keeps for itself.
    static let keptBytes = 16 << 20

    /// What doesn't hold, in words.
    func faults(_ row: SiegeRow) -> [String] {
        waitFaults(row) + memoryFaults(row)
    }

    private func waitFaults(_ row: SiegeRow) -> [String] {
        zip(Bystanders.names, attacked).flatMap { name, waits in
            let third = waits.longest / 3
            return [
                waits.p99 > row.waitMillisecondsMax ? "who \(name): p99" : nil,
                third > row.waitMillisecondsMax ? "who \(name): a third of the longest wait" : nil,
            ].compactMap(\.self)
        }
    }

    private func memoryFaults(_ row: SiegeRow) -> [String] {
        var faults: [String] = []
        if let most = row.growthBytesMax, memoryMost > memoryBefore + UInt64(most) {
            faults.append("memory grew too much")
        }
        if row.givesBack, memoryAfter > memoryBefore + UInt64(Self.keptBytes) {
            faults.append("memory wasn't given back")
        }
        return faults
    }
}

extension SiegeResult {
    /// What doesn't hold in any run, in words.
    var faults: [String] {
        var faults: [String] = []
        for fault in runs.flatMap({ $0.faults(row) }) where !faults.contains(fault) { faults.append(fault) }
        if let failure, !isSkipped { faults.append(failure) }
        return faults
    }

    /// `ok`, `skipped`, or `FAILED` and why.
    var verdict: String {
        if isSkipped { return "skipped: \(failure ?? "")" }
        return faults.isEmpty ? "ok" : "FAILED: " + faults.joined(separator: "; ")
    }

    /// Whether an attack wasn't set up in time, so that the row attacks less than it says.
    var isWeaker: Bool { runs.contains { !$0.isSetUp } }
}
