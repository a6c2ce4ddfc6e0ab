// A session in the Trace Event Format, which Perfetto (ui.perfetto.dev) and Chrome (chrome://tracing) open: a
// lane for each writer, a short slice for each event and each call, and an arrow from each cause to its
// effects. The file is an array whose end may be missing, so it can be opened however the recording ended.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// Writes a trace. Its memory is bounded: arrows begin at the last writes only. Used by one thread.
final class ChromeTrace {
    /// How many writes are remembered as causes.
    static let causesMax = 65_536
    /// How long a slice is: long enough to be clicked on.
    static let sliceNanoseconds: UInt64 = 5_000
    private static let bufferBytesMax = 64 * 1_024

    /// What a write names as its cause: a write, or a call of a server.
    private struct Cause: Hashable {
        let revision: UInt64
        var server: String?
    }

    /// Where a write stands in the trace.
    private struct Place {
        let lane: Int
        /// Since the start.
        let nanoseconds: UInt64
    }

    private let file: DataFile
    private var pending: [UInt8] = Array("[".utf8)
    private var hasEvent = false
    /// The lane of each writer, and when its last slice ends.
    private var lanes: [String: (number: Int, end: UInt64)] = [:]
    private var causes: [Cause: Place] = [:]
    /// What is remembered, the oldest first.
    private var remembered: [Cause] = []
    private var oldest = 0
    private var arrows = 0
    private let causesMax: Int

    /// Makes the file, or replaces it. Throws if a link, a device or a pipe is there.
    init(path: String, causesMax: Int = ChromeTrace.causesMax) throws {
        self.causesMax = causesMax
        // Another user may have made a link, so it isn't followed.
        if FileCopy.target(ofLink: path) != nil {
            throw CommandError(.refused, "\(path) is a symbolic link; name a file")
        }
        try ReplacedFile.check(path)
        _ = try FileCopy.remove(path)
        file = try DataFile.appending(to: path)
        add(
            ObjectWriter().adding("name", string: "process_name").adding("ph", string: "M").adding("pid", 1)
                .adding("args", json: ObjectWriter().adding("name", string: Program.name).bytes)
        )
    }

    /// Writes an event of the bus that came at that time.
    func take(_ line: BrokerLine, nanoseconds: UInt64) throws {
        guard case .event(let name) = line.kind, let key = line["key"]?.string else { return }
        let isCall = name == "trace"
        if isCall, line["outcome"]?.string != "asked" { return }
        let kind = isCall ? "call" : name
        let writer = line["by"]?.string ?? "?"
        let place = place(of: writer, at: nanoseconds)
        let revision = line["revision"]?.integer
        let details = ["revision", "cause", "value", "skipped", "call", "server"].reduce(ObjectWriter()) {
            $0.adding($1, json: line[$1]?.bytes)
        }
        add(
            event(key, "X", place).adding("dur", json: Self.microseconds(Self.sliceNanoseconds).utf8)
                .adding("cat", string: line["initial"]?.bool == true ? "value" : kind)
                .adding("args", json: details.bytes)
        )
        if let cause = line["cause"]?.integer,
            let start = causes[Cause(revision: cause, server: writer)] ?? causes[Cause(revision: cause)]
        {
            addArrow(from: start, to: place)
        }
        // An emit has the revision of the write before it, and so has a call.
        if let revision, kind != "emit" {
            remember(Cause(revision: revision, server: line["server"]?.object?["name"]?.string), place)
        }
        if pending.count >= Self.bufferBytesMax { try flush() }
    }

    /// Writes what has been collected.
    func flush() throws {
        let bytes = pending
        var sent = 0
        while sent < bytes.count { sent += try file.append(bytes.span[sent...]) }
        pending.removeAll(keepingCapacity: true)
    }

    /// Completes the file.
    func finish() throws {
        pending += Array("\n]\n".utf8)
        try flush()
    }

    /// A lane is as a thread of one process. Slices of a lane don't overlap.
    private func place(of writer: String, at nanoseconds: UInt64) -> Place {
        if lanes[writer] == nil {
            let number = lanes.count + 1
            lanes[writer] = (number, 0)
            add(
                ObjectWriter().adding("name", string: "thread_name").adding("ph", string: "M").adding(
                    "pid", 1
                )
                .adding("tid", number)
                .adding("args", json: ObjectWriter().adding("name", string: writer).bytes)
            )
        }
        let lane = lanes[writer] ?? (0, 0)
        let start = max(nanoseconds, lane.end)
        lanes[writer] = (lane.number, start + Self.sliceNanoseconds)
        return Place(lane: lane.number, nanoseconds: start)
    }

    private func addArrow(from start: Place, to end: Place) {
        arrows += 1
        add(event("cause", "s", start).adding("cat", string: "cause").adding("id", arrows))
        add(
            event("cause", "f", end).adding("cat", string: "cause").adding("id", arrows).adding(
                "bp", string: "e"
            )
        )
    }

    private func event(_ name: String, _ phase: String, _ place: Place) -> ObjectWriter {
        ObjectWriter().adding("name", string: name).adding("ph", string: phase).adding("pid", 1)
            .adding("tid", place.lane).adding("ts", json: Self.microseconds(place.nanoseconds).utf8)
    }

    private func remember(_ cause: Cause, _ place: Place) {
        // The writes of a batch have one revision: the arrow begins at the first. Of calls, it is the last.
        let isKnown = causes[cause] != nil
        if !isKnown || cause.server != nil { causes[cause] = place }
        guard !isKnown else { return }
        remembered.append(cause)
        guard remembered.count - oldest > causesMax else { return }
        causes[remembered[oldest]] = nil
        oldest += 1
        if oldest == causesMax {
            remembered.removeFirst(oldest)
            oldest = 0
        }
    }

    private func add(_ event: consuming ObjectWriter) {
        pending += Array((hasEvent ? ",\n" : "\n").utf8)
        pending += event.bytes
        hasEvent = true
    }

    /// `1234.567`.
    private static func microseconds(_ nanoseconds: UInt64) -> String {
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000)
        return "\(whole)." + (rest < 10 ? "00" : rest < 100 ? "0" : "") + "\(rest)"
    }
}
