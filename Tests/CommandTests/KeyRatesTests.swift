import TestSupport
import Testing

@testable import plugboard

/// Keys, with the periods in which their updates are counted.
private struct Counted {
    private var keys = KeyRates()
    private var periods = RecentPeriods()

    mutating func note(_ key: String, by: String, count: UInt64 = 1) {
        keys.note(key, by: by, count: count)
    }

    mutating func endPeriod(seconds: Double) {
        keys.endPeriod(periods)
        periods.end(seconds: seconds)
    }

    func busiest(_ limit: Int) -> [KeyRates.Row] { Array(keys.busiest(periods).prefix(limit)) }
    var rate: Double { keys.rate(periods) }
    var count: Int { keys.count }
}

@Suite("How often keys change", .someAtATime)
struct KeyRatesTests {
    @Test("a rate is the number of changes in the last four periods, divided by their time")
    func window() {
        var rates = Counted()
        rates.note("a", by: "x", count: 6)
        #expect(rates.busiest(9) == [.init(key: "a", rate: 0, total: 6, by: "x")])
        rates.endPeriod(seconds: 2)
        #expect(rates.busiest(9).map(\.rate) == [3])
        for _ in 0..<3 { rates.endPeriod(seconds: 1) }
        #expect(rates.busiest(9).map(\.rate) == [6.0 / 5])
        rates.endPeriod(seconds: 1)
        #expect(rates.busiest(9) == [.init(key: "a", rate: 0, total: 6, by: "x")])
    }

    @Test("the busiest keys come first, then those with more changes, then by name")
    func order() {
        var rates = Counted()
        rates.note("b", by: "")
        rates.note("d", by: "", count: 5)
        for _ in 0..<4 { rates.endPeriod(seconds: 1) }
        for key in ["z", "c", "a"] { rates.note(key, by: "") }
        rates.note("z", by: "")
        rates.endPeriod(seconds: 1)
        #expect(rates.busiest(9).map(\.key) == ["z", "a", "c", "d", "b"])
        #expect(rates.busiest(2).map(\.key) == ["z", "a"])
        #expect(rates.rate == 1)
    }

    @Test("up to the limit, keys are counted one by one; further ones count for the rate of all")
    func limit() {
        var rates = Counted()
        for number in 0..<KeyRates.keysMax { rates.note("k.\(number)", by: "") }
        rates.note("one.more", by: "", count: 3)
        rates.note("k.0", by: "")
        rates.endPeriod(seconds: 1)
        #expect(rates.count == KeyRates.keysMax)
        #expect(rates.rate == Double(KeyRates.keysMax + 4))
        #expect(rates.busiest(1).map(\.key) == ["k.0"])
    }

    @Test("if there are many keys, resting ones are forgotten and make room")
    func resting() {
        var rates = Counted()
        for number in 0..<KeyRates.keysMax { rates.note("k.\(number)", by: "") }
        for _ in 0..<4 { rates.endPeriod(seconds: 1) }
        rates.note("k.7", by: "")
        rates.endPeriod(seconds: 1)
        #expect(rates.count == 1)
        rates.note("new", by: "")
        #expect(rates.count == 2)
    }
}
