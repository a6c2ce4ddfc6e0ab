// Counts how often the broker allocates memory. The broker runs with glibc's debugging library, which
// logs every allocation. Counting begins after a warm-up, when all memory has reached its final size, and
// ends while nothing is on its way.

import PlugboardPosix

/// Counts the allocations of the broker.
struct Allocations {
    /// How long a broker may take to write its trace. On a busy machine it takes a while.
    private static let patienceSeconds = 120.0
    let bench: Bench

    /// What a trace shows.
    struct Count: Equatable, Sendable {
        let messages: Int
        let allocations: Int
        /// Allocations by Swift's library that only code without optimization needs.
        let frames: Int

        /// Allocations that an optimized build would make, too.
        var byBroker: Int { allocations - frames }
        var perMessage: Double { Double(allocations) / Double(messages) }
    }

    /// Counts allocations in the steady state. Nil if that isn't possible: on other systems than Linux,
    /// if glibc's loader doesn't load the broker, or if the broker doesn't write its trace.
    func count(_ workload: Workload) throws -> Count? {
        let folder = try TemporaryFolder(named: "pba")
        let log = folder.path + "/trace"
        let session = try LoadSession(
            workload, PlugboardDialect(programs: bench.programs, allocationLog: log), bench
        )
        guard session.serverHasLoaded(AllocationTrace.library) else { return nil }
        let batches = batches(of: workload)
        try session.run(batches: batches)
        let before = session.messagesPublished
        session.signal(SIGUSR1)
        guard Patience.wait(seconds: Self.patienceSeconds, { AllocationTrace.hasBegun(log: log) }) else {
            return nil
        }
        try session.run(batches: batches)
        session.signal(SIGUSR2)
        guard Patience.wait(seconds: Self.patienceSeconds, { AllocationTrace.isFlushed(log: log) }) else {
            return nil
        }
        let (allocations, frames) = try AllocationLog(path: log).counts()
        let messages = session.messagesPublished - before
        return Count(messages: messages, allocations: allocations, frames: frames)
    }

    /// How many batches to count: enough to see what happens once in many turns, fewer if batches take
    /// long.
    private func batches(of workload: Workload) -> Int {
        let messages = max(bench.options.countedMessagesMin, workload.keys * workload.publishers)
        let effort = max(1, workload.deliveriesPerMessage / 100) * max(1, workload.valueBytes / 1024)
        return max(1, messages / (workload.batch * effort))
    }
}

/// A trace that glibc wrote. Its last line may be incomplete.
struct AllocationLog {
    private static let bytesMax = 1 << 30
    private let bytes: [UInt8]

    init(path: String) throws {
        self.init(try InputFile.contents(path: path, limit: Self.bytesMax))
    }

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The number of allocations, and how many of them Swift's library made outside of its allocator.
    /// Those are frames of accessors, which only a build without optimization allocates.
    ///
    /// `@ CALLER + ADDRESS SIZE` is an allocation, and the same with `>` is memory that was moved. Other
    /// lines are returns of memory. The caller may contain spaces, so words are counted from the end.
    func counts() -> (allocations: Int, frames: Int) {
        var counts = (allocations: 0, frames: 0)
        for line in bytes.split(separator: UInt8(ascii: "\n")) where line.first == UInt8(ascii: "@") {
            let words = line.split(separator: UInt8(ascii: " "))
            guard words.count >= 4, let sign = words[words.count - 3].first, "+>".utf8.contains(sign) else {
                continue
            }
            counts.allocations += 1
            let caller = String(decoding: line, as: UTF8.self)
            if caller.contains("libswiftCore"), !caller.contains("swift_slowAlloc") { counts.frames += 1 }
        }
        return counts
    }
}
