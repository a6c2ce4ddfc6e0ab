// The progress of a long import or replay, redrawn on one line of a terminal. If the work is short, no bar is
// shown.

import PlugboardPosix
import PlugboardWire

/// A progress bar on standard error.
struct ProgressBar {
    private static let firstSeconds = 0.3
    private static let stepSeconds = 0.1

    private let stream: OutputStream
    private let total: Int?
    private let unit: String
    private let start = MonotonicClock.nanoseconds()
    private var next = firstSeconds
    private var isShown = false

    /// `total` is the amount of work in any measure, such as bytes; nil if it isn't known. `unit`
    /// is the thing that is counted. Shows nothing if the stream isn't a terminal.
    init(total: Int?, counting unit: String = "lines", on stream: OutputStream) {
        self.total = total
        self.unit = unit
        self.stream = stream
    }

    /// Draws the bar again if it is time.
    mutating func update(done: Int, count: Int) {
        guard stream.isTerminal, elapsed >= next else { return }
        next = elapsed + Self.stepSeconds
        isShown = true
        let text = Self.text(
            done: done,
            of: total,
            count: "\(TextLayout.grouped(count)) \(unit)",
            rate: Int(Double(count) / max(elapsed, 0.001)),
            seconds: elapsed,
            columns: stream.stream.columns ?? 80
        )
        try? stream.bytes(Array("\r\(text)\u{1B}[K".utf8))
    }

    /// Removes the bar before anything else is written.
    mutating func clear() {
        guard isShown else { return }
        isShown = false
        try? stream.bytes(Array("\r\u{1B}[K".utf8))
    }

    /// `[#####     ]  48 %  48,210 lines  96,000/s  0:03 left`, at most `columns` wide.
    static func text(
        done: Int, of total: Int?, count: String, rate: Int, seconds: Double, columns: Int
    ) -> String {
        let counted = "\(count)  \(TextLayout.grouped(rate))/s"
        guard let total, total > 0 else { return String(counted.prefix(columns - 1)) }
        let part = min(1, Double(done) / Double(total))
        let left = part > 0 ? Int(seconds / part * (1 - part) + 0.5) : 0
        let numbers =
            "\(Int(part * 100)) %  \(counted)  \(left / 60):\(left % 60 < 10 ? "0" : "")\(left % 60) left"
        let room = min(40, columns - numbers.count - 5)
        guard room >= 8 else { return String(numbers.prefix(columns - 1)) }
        let full = Int(part * Double(room))
        let bar = String(repeating: "#", count: full) + String(repeating: ".", count: room - full)
        return "[\(bar)]  \(numbers)"
    }

    private var elapsed: Double { Double(MonotonicClock.nanoseconds() - start) / 1e9 }
}
