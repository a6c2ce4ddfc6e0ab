import PlugboardWire
import Testing

@Suite("moments as text")
struct UTCTimeTests {
    private func text(_ milliseconds: UInt64) -> String { UTCTime.text(milliseconds) }

    @Test("moments are written in UTC, to the millisecond, including leap days and ends of years")
    func moments() {
        #expect(UTCTime.timeOfDay(1_795_266_300_123) == "13:05:00.123Z")
        #expect(text(0) == "1970-01-01T00:00:00.000Z")
        #expect(text(1) == "1970-01-01T00:00:00.001Z")
        #expect(text(951_782_399_999) == "2000-02-28T23:59:59.999Z")
        #expect(text(951_782_400_000) == "2000-02-29T00:00:00.000Z")
        #expect(text(951_868_800_000) == "2000-03-01T00:00:00.000Z")
        #expect(text(1_795_266_300_123) == "2026-11-21T13:05:00.123Z")
        #expect(text(1_798_761_599_999) == "2026-12-31T23:59:59.999Z")
        #expect(text(4_107_542_400_000) == "2100-03-01T00:00:00.000Z")
    }

    @Test("every day of four hundred years comes after the one before")
    func days() {
        let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        var (year, month, day) = (1970, 1, 1)
        for number in 0..<146_097 {
            let expected = "\(year)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)T"
            guard text(UInt64(number) * 86_400_000).hasPrefix(expected) else {
                Issue.record("\(text(UInt64(number) * 86_400_000)), not \(expected)")
                return
            }
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            day += 1
            if day > lengths[month - 1] + (month == 2 && isLeap ? 1 : 0) { (month, day) = (month + 1, 1) }
            if month > 12 { (year, month) = (year + 1, 1) }
        }
    }
}
