// Writes times as text for replies: RFC 3339 in UTC, with milliseconds (SPEC.md, section 4). It computes
// the calendar itself (H. Hinnant's `civil_from_days`), because the C library uses the time zone of the
// process.

import PlugboardMemory

extension ByteBuffer {
    /// Adds a time, such as `2026-11-21T13:05:00.123Z`.
    public mutating func append(milliseconds since1970: UInt64) {
        let (seconds, milliseconds) = since1970.quotientAndRemainder(dividingBy: 1000)
        append(dateAndTime: seconds)
        append(byte: UInt8(ascii: "."))
        append(decimal: milliseconds, digits: 3)
        append(byte: UInt8(ascii: "Z"))
    }

    /// Adds a time that is known to the second, such as `2026-11-21T13:05:00Z`.
    public mutating func append(seconds since1970: UInt64) {
        append(dateAndTime: since1970)
        append(byte: UInt8(ascii: "Z"))
    }

    private mutating func append(dateAndTime seconds: UInt64) {
        let (day, second) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let date = UTCDate(day: day)
        append(decimal: date.year, digits: 4)
        append(byte: UInt8(ascii: "-"))
        append(decimal: date.month, digits: 2)
        append(byte: UInt8(ascii: "-"))
        append(decimal: date.day, digits: 2)
        append(byte: UInt8(ascii: "T"))
        append(decimal: second / 3600, digits: 2)
        append(byte: UInt8(ascii: ":"))
        append(decimal: second / 60 % 60, digits: 2)
        append(byte: UInt8(ascii: ":"))
        append(decimal: second % 60, digits: 2)
    }

    /// Adds an integer with leading zeros, at least `digits` digits long.
    private mutating func append(decimal value: UInt64, digits: Int) {
        for _ in 0..<max(0, digits - DecimalDigits.count(value)) { append(byte: UInt8(ascii: "0")) }
        append(decimal: value)
    }
}

/// Times as people read them. Arguments are milliseconds since 1970.
public enum UTCTime {
    /// `2026-11-21T13:05:00.123Z`.
    public static func text(_ milliseconds: UInt64) -> String {
        var buffer = ByteBuffer()
        buffer.append(milliseconds: milliseconds)
        return String(buffer.bytes)
    }

    /// `13:05:00.123Z`.
    public static func timeOfDay(_ milliseconds: UInt64) -> String { String(text(milliseconds).suffix(13)) }
}

/// A day of the Gregorian calendar.
private struct UTCDate {
    let year: UInt64
    let month: UInt64
    let day: UInt64

    /// `number` counts days from 1 January 1970, which is 0.
    init(day number: UInt64) {
        // Counts from 1 March of the year 0, so that a leap day is the last day of its year.
        let shifted = number + 719_468
        let (era, dayOfEra) = shifted.quotientAndRemainder(dividingBy: 146_097)
        let leaps = dayOfEra / 1460
        let yearOfEra = (dayOfEra - leaps + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }
}
