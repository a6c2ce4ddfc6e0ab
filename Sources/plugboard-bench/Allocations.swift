// Counts how often the broker allocates memory. glibc writes down every allocation of a
// broker that runs with its debugging library. Counting begins after a warm-up, when
// everything has reached its final size, and ends while nothing is on its way.

import PlugboardPosix

/// Counts the allocations of the broker.
struct Allocations {
    private static let patienceSeconds = 10.0
    let bench: Bench

    /// What was counted.
    struct Count: Equatable, Sendable {
        let messages: Int
        let allocations: Int
        /// Those that Swift's library made for code that isn't optimized.
        let frames: Int

        /// Those that an optimized build would make as well.
        var byBroker: Int { allocations - frames }
        var perMessage: Double { Double(allocations) / Double(messages) }
    }

    /// Counts in the steady state. Nil if that isn't possible: on other systems, or in a program
    /// that glibc's loader doesn't load.
    func count(_ workload: Workload) throws -> Count? {
        let folder = try TemporaryFolder(named: "pba")
        let log = folder.path + "/trace"
        let session = try LoadSession(
            workload,
            PlugboardDialect(programs: bench.programs, allocationLog: log),
            bench
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
        let isComplete = try Patience.wait(seconds: Self.patienceSeconds, pause: 0.01) {
            try AllocationLog(path: log).isComplete
        }
        guard isComplete else { return nil }
        let (allocations, frames) = try AllocationLog(path: log).counts()
        let messages = session.messagesPublished - before
        return Count(messages: messages, allocations: allocations, frames: frames)
    }

    /// Enough to see what happens once in many turns; fewer for batches that take longer.
    private func batches(of workload: Workload) -> Int {
        let messages = max(bench.options.countedMessagesMin, workload.keys * workload.publishers)
        let effort = max(1, workload.deliveriesPerMessage / 100) * max(1, workload.valueBytes / 1024)
        return max(1, messages / (workload.batch * effort))
    }
}

/// The contents of a trace from glibc.
struct AllocationLog {
    private static let bytesMax = 1 << 30
    private let bytes: [UInt8]

    /// Reads a trace that may still be written.
    init(path: String) throws {
        self.init(try InputFile.contents(path: path, limit: Self.bytesMax))
    }

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether its last line says that it ended.
    var isComplete: Bool {
        let end = "= End\n".utf8
        return bytes.suffix(end.count).elementsEqual(end)
    }

    /// How often memory was allocated, and how many of those allocations Swift's library made
    /// outside of its allocator. Those are the frames of accessors, which only a build without
    /// optimization calls.
    ///
    /// `@ CALLER + ADDRESS SIZE` is an allocation, and one with `>` is memory that was moved.
    /// Other lines are returns of memory. The caller may have spaces, so fields are counted from
    /// the end.
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
