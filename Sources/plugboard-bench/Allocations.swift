// How often the broker asks the system for memory: glibc writes down every allocation of
// a broker that runs under its debugging library. That begins after a warm-up, by which
// everything has grown to the size it keeps, and ends while nothing is on its way.

import PlugboardPosix

/// Counts the allocations of `plugboard broker`.
struct Allocations {
    private static let patienceNanoseconds: UInt64 = 10_000_000_000
    private static let pauseSeconds = 0.001

    let programs: Programs
    let signals: Signals?
    /// How many messages there are at least of each row.
    var messagesMin = 20_000

    /// What was counted.
    struct Count: Equatable, Sendable {
        let messages: Int
        let allocations: Int
        /// Those of them that Swift's library made for code that isn't optimised.
        let frames: Int

        /// Those that an optimised build would make as well.
        var byBroker: Int { allocations - frames }
        var perMessage: Double { Double(allocations) / Double(messages) }
    }

    /// Counts in steady state. Nil where it can't be done: on other systems, or in a program
    /// that glibc's loader doesn't load.
    func count(_ workload: Workload) throws -> Count? {
        let folder = try TemporaryFolder(named: "pba")
        let log = folder.path + "/trace"
        let dialect = PlugboardDialect(programs: programs, allocationLog: log)
        guard let session = try Session(workload, dialect, programs: programs, signals: signals) else {
            return nil
        }
        guard session.serverHasLoaded(AllocationTrace.library) else { return nil }
        let batches = batches(of: workload)
        try session.run(batches: batches)
        let before = session.messagesPublished
        session.signal(SIGUSR1)
        guard try wait({ FileStatus(path: log).kind == .file }) else { return nil }
        try session.run(batches: batches)
        session.signal(SIGUSR2)
        guard try wait({ try Trace(path: log).isComplete }) else { return nil }
        let trace = try Trace(path: log)
        return Count(
            messages: session.messagesPublished - before,
            allocations: trace.allocations,
            frames: trace.frames
        )
    }

    /// Enough to see what happens once in many turns; fewer of what takes longer.
    private func batches(of workload: Workload) -> Int {
        let messages = max(messagesMin, workload.keys * workload.publishers)
        let effort = max(1, workload.deliveriesPerMessage / 100) * max(1, workload.valueBytes / 1024)
        return max(1, messages / (workload.batch * effort))
    }

    /// Whether it came true before patience ended.
    private func wait(_ isTrue: () throws -> Bool) throws -> Bool {
        let deadline = MonotonicClock.nanoseconds() + Self.patienceNanoseconds
        while try !isTrue() {
            guard MonotonicClock.nanoseconds() < deadline else { return false }
            Pause.sleep(seconds: Self.pauseSeconds)
        }
        return true
    }
}

/// What a trace of glibc's tells.
struct Trace {
    private(set) var allocations = 0
    /// Those made within Swift's library but not by its allocator: the frames of accessors,
    /// which only a build without optimisation calls.
    private(set) var frames = 0
    /// Its last line says that it ended.
    private(set) var isComplete = false
    private var line: [UInt8] = []

    /// Nothing, so far.
    init() {}

    /// Reads a trace that may still be written.
    init(path: String) throws {
        let file = try InputFile(path: path)
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = try chunk.withUnsafeMutableBytes { try file.read(into: $0) }
            if count == 0 { return }
            take(chunk[..<count])
        }
    }

    /// Takes in the next bytes.
    mutating func take(_ bytes: ArraySlice<UInt8>) {
        for byte in bytes {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            takeLine()
            line.removeAll(keepingCapacity: true)
        }
    }

    /// `@ CALLER + ADDRESS SIZE` is memory given out, with a `>` memory that was moved; the
    /// others are its return. The caller may have spaces, so they are counted from the end.
    private mutating func takeLine() {
        isComplete = line.starts(with: "= End".utf8)
        guard line.first == UInt8(ascii: "@") else { return }
        let words = line.split(separator: UInt8(ascii: " "))
        guard words.count >= 4, let sign = words[words.count - 3].first else { return }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: ">") else { return }
        allocations += 1
        let caller = String(decoding: line, as: UTF8.self)
        if caller.contains("libswiftCore"), !caller.contains("swift_slowAlloc") { frames += 1 }
    }
}
