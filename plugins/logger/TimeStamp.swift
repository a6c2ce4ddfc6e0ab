// The time of day in UTC, in the form of ISO 8601. It always has
// milliseconds and ends with `Z`, so that the lines of a log sort
// by time.

import Foundation

/// A time with milliseconds.
struct TimeStamp {
    private let seconds: Int
    private let milliseconds: Int

    init(seconds: Int, milliseconds: Int) {
        self.seconds = seconds
        self.milliseconds = milliseconds
    }

    static func now() -> TimeStamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return TimeStamp(seconds: time.tv_sec, milliseconds: time.tv_nsec / 1_000_000)
    }

    /// `2026-07-01T12:30:00.120Z`.
    var text: String {
        let parts = parts
        let date = [(Int(parts.tm_year) + 1900, 4), (Int(parts.tm_mon) + 1, 2), (Int(parts.tm_mday), 2)]
        return date.map { Self.digits($0.0, $0.1) }.joined(separator: "-") + "T" + clock
    }

    /// `12:30:00.120Z`.
    var clock: String {
        let parts = parts
        let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { Self.digits(Int($0), 2) }
        return time.joined(separator: ":") + "." + Self.digits(milliseconds, 3) + "Z"
    }

    private var parts: tm {
        var moment = time_t(seconds)
        var parts = tm()
        gmtime_r(&moment, &parts)
        return parts
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}
