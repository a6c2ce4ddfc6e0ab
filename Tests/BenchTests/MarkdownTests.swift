import TestSupport
import Testing

@testable import plugboard_bench

@Suite("A page of figures", .someAtATime)
struct MarkdownTests {
    private static let report = Report.made([
        Row(
            workload: Workload("publish"),
            systems: [
                .made("plugboard", [.messagesPerSecond: [300], .cpuNanosecondsPerMessage: [110]]),
                .made("redis SET+PUBLISH", [.messagesPerSecond: [100]]),
                .made("nats publish", [.messagesPerSecond: [600]]),
            ]
        ),
        Row(
            workload: Workload("publish-ttl").with { $0.writing = "…" },
            systems: [
                .made("plugboard", [.messagesPerSecond: [100], .cpuNanosecondsPerMessage: [300]]),
                .made("without", [.messagesPerSecond: [200], .cpuNanosecondsPerMessage: [200]]),
            ]
        ),
    ])

    @Test("has the commit, the machine, the goals, every row and every option")
    func text() {
        let text = Markdown.text(of: Self.report, commit: "abc1234", chart: "bench.svg")
        for line in [
            "Commit abc1234; A <fast> ", "![All systems as bars](bench.svg)",
            "| publish, no observer: CPU ns per message | 110 | ≤ 120 | ≤ 90 | holds |",
            "| row | plugboard | CPU ns a message | × redis SET+PUBLISH | × nats publish |",
            "| publish-ttl | 300 | 1.50 | 0.50 (messages/s) |",
        ] {
            #expect(text.contains("\n" + line) || text.hasPrefix(line), "\(line) in:\n\(text)")
        }
    }

    @Test("shows in bold where a peer is better")
    func honest() {
        let text = Markdown.text(of: Self.report, commit: nil, chart: nil)
        #expect(text.contains("| publish | 300 messages/s | 110 | 3.00 | **0.50** |"))
    }

    @Test("replaces only what is between the marks, any number of times")
    func page() throws {
        let marks = "<!-- bench: written by plugboard bench --into -->\nold\n<!-- /bench -->"
        let once = try #require(Markdown.page("before\n\(marks)\nafter\n", with: "new\n", isInMemory: false))
        #expect(
            once == """
                before
                <!-- bench: written by plugboard bench --into -->

                new

                <!-- /bench -->
                after

                """
        )
        #expect(Markdown.page(once, with: "new\n", isInMemory: false) == once)
        for page in ["before\n<!-- /bench -->\n", ""] {
            #expect(Markdown.page(page, with: "new\n", isInMemory: false) == nil)
        }
        // What is measured in memory has a place of its own.
        #expect(Markdown.page(once, with: "other\n", isInMemory: true) == nil)
        let mark = "<!-- bench --memory: written by plugboard bench --memory --into -->"
        let second = once + "\(mark)\n<!-- /bench -->\n"
        let both = try #require(Markdown.page(second, with: "other\n", isInMemory: true))
        #expect(both.hasPrefix(once) && both.hasSuffix("-->\n\nother\n\n<!-- /bench -->\n"))
    }
}
