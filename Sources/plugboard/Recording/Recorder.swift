// Writes a recording to standard output, or a trace into a file. It writes whole lines, and writes all of
// them before it waits.

import PlugboardPosix

/// Writes the events of a subscription, and counts them.
struct Recorder {
    /// Values that were there at the start.
    private(set) var values: UInt64 = 0
    /// Changes, deletes and emits after the start.
    private(set) var events: UInt64 = 0
    /// Changes and events that the broker folded into later ones.
    private(set) var missing: UInt64 = 0
    /// Breaks after which the broker didn't know what had happened meanwhile.
    private(set) var gaps: UInt64 = 0
    private let start = MonotonicClock.nanoseconds()
    /// When the current lines came: lines that were read together have one time.
    private var now: UInt64
    private var pending: PendingOutput
    /// Takes the place of standard output.
    private let trace: ChromeTrace?

    init(console: CommandConsole, trace: ChromeTrace? = nil) {
        now = start
        self.trace = trace
        pending = PendingOutput(console.output)
    }

    mutating func begin(header: [UInt8]) throws {
        guard trace == nil else { return }
        try pending.add(json: header)
        try pending.flush()
    }

    /// Writes a line. Returns true if it is a change, and not a current value at the start.
    mutating func take(_ line: BrokerLine) throws -> Bool {
        guard case .event(let name) = line.kind else { return false }
        if let trace {
            try trace.take(line, nanoseconds: now - start)
        } else {
            try pending.add(json: Recording.line(line, nanoseconds: now - start))
        }
        missing &+= line["skipped"]?.integer ?? 0
        switch name {
        case "synced": return false
        case "gap":
            gaps += 1
            return false
        case "lagged":
            missing &+= line["dropped"]?.integer ?? 0
            return false
        default: break
        }
        let isInitial = line["initial"]?.bool == true
        if isInitial { values += 1 } else { events += 1 }
        return !isInitial
    }

    /// Writes the collected lines before the next wait.
    mutating func flush() throws {
        try pending.flush()
        try trace?.flush()
    }

    /// Completes what was written.
    func finish() throws { try trace?.finish() }

    /// Notes that lines have come.
    mutating func stamp() {
        now = MonotonicClock.nanoseconds()
    }

    /// `3 values and 120 events in 8.2 s`.
    var summary: String {
        let seconds = Double(MonotonicClock.nanoseconds() - start) / 1e9
        return "\(Plural.values(values)) and \(Plural.events(events)) in \(Supervisor.seconds(seconds))"
    }
}

/// Numbers with what they count.
enum Plural {
    static func values(_ count: UInt64) -> String { "\(count) \(count == 1 ? "value" : "values")" }
    static func events(_ count: UInt64) -> String { "\(count) \(count == 1 ? "event" : "events")" }
    static func keys(_ count: Int) -> String { "\(count) \(count == 1 ? "key" : "keys")" }
    static func lines(_ count: UInt64) -> String { "\(count) \(count == 1 ? "line" : "lines")" }
}
