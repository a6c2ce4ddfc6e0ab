import TestSupport
import Testing

@testable import plugboard_bench

@Suite("Statistics", .someAtATime)
struct StatisticsTests {
    @Test("the median of an odd number of values is the middle one, of an even number between two")
    func median() {
        #expect(Figure(of: [3, 1, 2])?.median == 2)
        #expect(Figure(of: [4, 1, 3, 2])?.median == 2.5)
        #expect(Figure(of: [7])?.median == 7)
        #expect(Figure(of: []) == nil)
    }

    @Test("smallest and largest don't depend on the order of runs")
    func extremes() {
        let figure = Figure(of: [5, -1, 9, 2])
        #expect(figure?.least == -1)
        #expect(figure?.most == 9)
    }

    @Test(
        "a percentile is between two values if necessary",
        arguments: [(0.0, 0.0), (0.5, 50), (0.99, 99), (0.999, 99.9), (1, 100)]
    )
    func percentiles(part: Double, expected: Double) {
        let value = Figure.quantile(part, ofSorted: (0...100).map(Double.init))
        #expect(abs(value - expected) < 1e-9)
    }

    @Test("a percentile of no values is 0, of one value that value")
    func smallPercentiles() {
        #expect(Figure.quantile(0.99, ofSorted: []) == 0)
        #expect(Figure.quantile(0.99, ofSorted: [3]) == 3)
    }

    @Test("a ratio is the median over pairs of runs, not the ratio of medians")
    func ratio() {
        let ours = Samples.made([.messagesPerSecond: [10, 100, 30]])
        let theirs = Samples.made([.messagesPerSecond: [5, 10, 10]])
        #expect(ours.ratio(.messagesPerSecond, to: theirs) == 3)
    }

    @Test("a ratio needs both figures, and a divisor that isn't zero")
    func noRatio() {
        let ours = Samples.made([.messagesPerSecond: [10]])
        #expect(ours.ratio(.messagesPerSecond, to: .made([:])) == nil)
        #expect(ours.ratio(.messagesPerSecond, to: .made([.messagesPerSecond: [0]])) == nil)
    }

    @Test(
        "numbers are written as people read them",
        arguments: [
            (0, "0"), (0.984, "0.98"), (25.44, "25.4"), (105.4, "105"), (1_234_567, "1,234,567"),
            (-2.5, "-2.50"),
            (.infinity, "–"), (.nan, "–"),
        ]
    )
    func digits(value: Double, text: String) {
        #expect(Digits.text(value) == text)
    }

    @Test("scales have whole numbers if possible")
    func ticks() {
        #expect(Digits.tick(0) == "0" && Digits.tick(10) == "10" && Digits.tick(10_000) == "10,000")
        #expect(Digits.tick(0.25) == "0.25")
    }

    @Test("a figure that should be zero is never rounded to zero")
    func rare() {
        #expect(Digits.rare(0) == "0")
        #expect(Digits.rare(0.000_01) == "<0.001")
        #expect(Digits.rare(0.018) == "0.018")
        #expect(Digits.rare(2) == "2.00")
    }
}
