// Formats numbers so that people can read them quickly.

import PlugboardPosix
import PlugboardWire

/// Texts of quantities.
enum Amount {
    /// `0`, `3.3`, `1,234`.
    static func rate(_ value: Double) -> String {
        guard value > 0 else { return "0" }
        guard value < 9.95 else { return count(value) }
        let tenths = max(1, Int((value * 10).rounded()))
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    /// `1,234,567`.
    static func count(_ value: UInt64) -> String {
        TextLayout.grouped(Int(clamping: value))
    }

    /// `812 B`, `5.2 MB`.
    static func bytes(_ value: UInt64) -> String {
        var size = Double(value)
        var unit = 0
        let units = ["B", "kB", "MB", "GB", "TB"]
        while size >= 999.5, unit < units.count - 1 {
            size /= 1_000
            unit += 1
        }
        guard unit > 0, size < 99.95 else { return "\(Int(size.rounded())) \(units[unit])" }
        let tenths = Int((size * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    /// `< 1 µs`, `12 µs`, `3.4 ms`, `1.2 s`.
    static func duration(microseconds: Double) -> String {
        switch microseconds {
        case ..<1: "< 1 µs"
        case ..<1_000: "\(rate(microseconds)) µs"
        case ..<1_000_000: "\(rate(microseconds / 1_000)) ms"
        default: "\(rate(min(microseconds, 1e15) / 1_000_000)) s"
        }
    }

    /// `0.05 seconds`, `1 second`, `5 seconds`: rounded up to milliseconds, of which there is one at least.
    static func seconds(_ value: Double) -> String {
        let milliseconds = max(1, (value * 1_000).rounded(.up))
        if milliseconds == 1_000 { return "1 second" }
        let isWhole = milliseconds.remainder(dividingBy: 1_000) == 0
        return isWhole ? "\(Int(milliseconds / 1_000)) seconds" : "\(milliseconds / 1_000) seconds"
    }

    /// `4 s`, `12:05`, `3:04:05`, `2 days`.
    static func age(seconds: UInt64) -> String {
        func two(_ number: UInt64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3_600: return "\(seconds / 60):\(two(seconds % 60))"
        case ..<172_800: return "\(seconds / 3_600):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
        default: return "\(seconds / 86_400) days"
        }
    }

    private static func count(_ value: Double) -> String {
        count(UInt64(min(value.rounded(), 1e18)))
    }
}

/// The present time, with which lines for a person begin.
enum TimeOfDay {
    static func now() -> String { UTCTime.timeOfDay(WallClock.millisecondsSince1970()) }
}
