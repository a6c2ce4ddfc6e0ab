import TestSupport
import Testing

@testable import plugboard_bench

@Suite("The chart", .someAtATime)
struct ChartTests {
    private static let systems: [SystemRow] = [
        .made(
            "plugboard", [.messagesPerSecond: [100, 120, 90], .cpuNanosecondsPerMessage: [200, 210, 190]]),
        .made(
            "<odd> & \"quoted\"", [.messagesPerSecond: [0, 0, 0], .cpuNanosecondsPerMessage: [1, 9000, 2]]),
    ]

    private static func growth(_ medians: [Double]) -> GrowthRows {
        let growth = Growths.all[2]
        let rows = medians.map { median in
            Row(workload: Workload("g"), systems: [.made("plugboard", [growth.quantity: [median]])])
        }
        return GrowthRows(growth: growth, rows: rows)
    }

    private static let report = Report.made(
        [
            Row(workload: Workload("publish"), systems: systems),
            Row(workload: Workload("start").with { $0.measure = .startUp }, systems: systems),
        ],
        growth: [growth([100, 110, 120, 130, 140])]
    )

    private let svg = Chart.svg(of: report)

    @Test("is well-formed XML, whatever names the systems and the machine have")
    func wellFormed() {
        #expect(XMLCheck.fault(of: svg) == nil)
        #expect(XMLCheck.fault(of: Chart.svg(of: .made([]))) == nil)
        #expect(svg.contains("&lt;odd&gt; &amp; &quot;quoted&quot;"))
    }

    @Test("needs no other file and runs no script")
    func selfContained() {
        for word in ["<script", "href", "url(", "@import", "<image", "<foreignObject", " on"] {
            let found = svg.contains(word) && word != " on"
            #expect(!found, "\(word)")
        }
        #expect(svg.hasPrefix("<svg xmlns=\"http://www.w3.org/2000/svg\""))
    }

    @Test("has colours for light and for dark")
    func schemes() {
        #expect(svg.contains("@media (prefers-color-scheme: dark)"))
    }

    @Test("has rows, systems and numbers as text")
    func text() {
        for word in [">publish<", ">plugboard<", ">100<", ">200<", ">growth-connections<", ">10,000<"] {
            #expect(svg.contains(word), "\(word)")
        }
    }

    @Test("the longest bar is as long as the panel allows, and one bad run changes little")
    func bars() {
        let widths = svg.split(separator: "<rect ").compactMap { part -> Double? in
            guard part.contains("fill=\"#") else { return nil }
            let text = part.split(separator: "width=\"").dropFirst().first?.prefix { $0 != "\"" }
            return text.flatMap { Double($0) }
        }
        #expect(widths.allSatisfy { $0 >= 1 && $0 <= 280 })
        #expect(widths.contains { $0 >= 200 })
    }

    @Test("cost begins at zero, and goes by powers of ten if systems are far apart")
    func scales() {
        let linear = CostScale(least: 80, most: 140, isByPowers: false)
        #expect(linear.place(0) == 0 && linear.ticks.first == 0)
        #expect(linear.ticks.last.map { $0 >= 140 && linear.place($0) == 1 } == true)
        #expect(abs(linear.place(70) * 2 - linear.place(140)) < 1e-9)
        let powers = CostScale(least: 20, most: 9000, isByPowers: true)
        #expect(powers.ticks == [10, 100, 1000, 10_000])
        #expect(abs(powers.place(1000) - 2.0 / 3) < 1e-3)
        #expect(powers.place(10) == 0 && powers.place(10_000) == 1)
    }
}

/// Enough of XML to check that tags are closed in order, attributes are quoted, and text is
/// escaped.
enum XMLCheck {
    static func fault(of text: String) -> String? {
        var open: [Substring] = []
        var rest = text[...]
        while let start = rest.firstIndex(of: "<") {
            if let fault = faultOfText(rest[..<start]) { return fault }
            guard let end = rest[start...].firstIndex(of: ">") else { return "a tag without end" }
            let tag = rest[rest.index(after: start)..<end]
            rest = rest[rest.index(after: end)...]
            if tag.hasPrefix("/") {
                guard open.popLast() == tag.dropFirst() else { return "</\(tag.dropFirst())> closes another" }
                continue
            }
            if tag.contains("<") || tag.count(where: { $0 == "\"" }) % 2 == 1 { return "in <\(tag)>" }
            if let fault = faultOfText(tag) { return fault }
            if !tag.hasSuffix("/") { open.append(tag.prefix { $0 != " " }) }
        }
        return open.isEmpty ? faultOfText(rest) : "<\(open[0])> is never closed"
    }

    private static func faultOfText(_ text: Substring) -> String? {
        for part in text.split(separator: "&", omittingEmptySubsequences: false).dropFirst() {
            let name = part.prefix { $0 != ";" }
            guard ["amp", "lt", "gt", "quot"].contains(name), part.count > name.count else {
                return "&\(part)"
            }
        }
        return text.contains(">") ? "a > in \(text)" : nil
    }
}
