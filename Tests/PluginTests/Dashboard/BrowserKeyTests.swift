import Foundation
import PlugboardPosix
import TestSupport
import Testing

// A key's own page. These tests take turns with those of BrowserTests.
extension BrowserTests {
    private func list(_ selector: String) -> String {
        "[...document.querySelectorAll('\(selector)')].map((element) => element.textContent)"
    }

    @Test("changes and plot begin with the journal, with least, most and times; why is open")
    func earlierChanges() async throws {
        let shop = try await Shop(isKept: true)
        for watts in [7, 2, 9, 4] { try await shop.publish("lamp", #"{"watts":\#(watts)}"#) }
        try await shop.publish("bell", "1")
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.run("location.hash = '#/keys/lamp'")
            try tab.wait(
                "all changes are there, the newest first",
                for: "\(list(".changes-list .diff")).join() === '/watts94,/watts29,/watts72,{\"watts\":7}'"
            )
            try tab.wait("all are plotted", for: "(\(plot).match(/L/g) ?? []).length === 3")
            try tab.wait("the most is there", for: "\(list(".side .plot-top"))[0] === '9'")
            try tab.wait("the least is there", for: "\(list(".side .plot-bottom"))[0] === '2'")
            let times = "\(list(".side .plot-times"))[0]"
            try tab.wait("the plot ends at a time", for: #"/\d\d:\d\d:\d\dZ$/.test(\#(times))"#)
            let written = "\(list(".changes-list time"))"
            let areAll = #"\#(written).every((time) => /^\d\d:\d\d:\d\dZ$/.test(time))"#
            try tab.wait("each says when it was written", for: "\(written).length === 4 && \(areAll)")
            let whole = #"/^written \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/"#
            try tab.wait("and so does the value", for: "\(whole).test(\(list(".side .meta .when"))[0])")
            #expect(try tab.run("return \(list(".side h3")).join()").string == "Value,Changes,Why,Observers")
            try tab.wait("why is open", for: "document.querySelector('.why .chain li[data-key=lamp]')")
            try await shop.publish("lamp", #"{"watts":1}"#)
            try tab.wait("a further one joins them", for: "\(list(".changes-list .diff"))[0] === '/watts41'")
            try tab.wait("the least is new", for: "\(list(".side .plot-bottom"))[0] === '1'")
            let rows = "[...document.querySelectorAll('.changes-list li')]"
            let revisions = "\(rows).map((row) => Number(row.dataset.revision))"
            let inOrder = "\(revisions).every((number, at, all) => at === 0 || all[at - 1] > number)"
            #expect(try tab.run("return \(inOrder)").text == "true")
        }
    }

    private var plot: String { "document.querySelector('.side .plot-line').getAttribute('d')" }

    @Test("without a journal the changes say how many there were")
    func countedChanges() async throws {
        let shop = try await Shop()
        for watts in 1...39 { try await shop.publish("lamp", "\(watts)") }
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.run("location.hash = '#/keys/lamp'")
            let foot = "\(list(".changes-list li .step-foot"))[0]"
            try tab.wait("they are counted", for: "\(foot)?.includes('and 38 before it')")
        }
    }

    @Test("a key's page says how long the program of a value is waited for")
    func waiting() async throws {
        let shop = try await Shop()
        var writer: LinePeer? = try LinePeer(path: shop.path)
        try writer?.send(
            """
            {"op":"hello","name":"till","grace":3600000}
            {"op":"publish","key":"lamp","value":1,"while":"connected"}

            """
        )
        try await eventually("it is there") { try await shop.text("lamp") != nil }
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.run("location.hash = '#/keys/lamp'")
            let says = "\(list(".side .meta"))[0]"
            try tab.wait("its writer is there", for: "\(says)?.includes('till')")
            #expect(try tab.run("return \(says).includes('ended')").text == "false")
            writer = nil
            try tab.wait("it is waited for", for: "\(says).includes('ended; it is waited for, 59 min')")
        }
    }

    @Test("a key's page says when the value ends, and the dot of a writer that has gone is hollow")
    func ending() async throws {
        let shop = try await Shop()
        let writer = try LinePeer(path: shop.path)
        try writer.send(
            """
            hello guest
            {"op":"publish","key":"lamp","value":1,"while":"connected"}
            {"op":"publish","key":"bell","value":1,"ttl":600000}

            """
        )
        try await eventually("both are there") { try await shop.text("bell") != nil }
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.run("location.hash = '#/keys/lamp'")
            try tab.wait(
                "it ends with its connection",
                for: "\(list(".side .meta .while"))[0] === 'ends with its connection'"
            )
            try tab.run("location.hash = '#/keys/bell'")
            let ttl = "\(list(".side .meta .ttl"))[0]"
            try tab.wait("it ends in minutes", for: #"/^ends in \d+ min$/.test(\#(ttl))"#)
            let dots = #"document.querySelectorAll('.row[data-key="bell"] .client, .side .meta .client')"#
            func areHollow(_ isHollow: Bool) -> String {
                let fill = "getComputedStyle(dot, '::before').backgroundColor === 'rgba(0, 0, 0, 0)'"
                return "\(dots).length === 2 && [...\(dots)].every((dot) => (\(fill)) === \(isHollow))"
            }
            try tab.wait("its writer is there", for: areHollow(false))
            try writer.send("goodbye\n")
            try tab.wait("its writer has gone", for: areHollow(true))
            try tab.wait("its page says so", for: "\(list(".side .meta"))[0].includes('has ended')")
        }
    }

    @Test("times are UTC by the clock of the bus, whatever the browser's zone and clock; localhost works")
    func times() async throws {
        let shop = try await Shop()
        try await shop.publish("lamp", "1")
        let address = try await dashboard(shop).replacing("127.0.0.1", with: "localhost")
        try await Browser.shared.get().withTab("about:blank") { tab in
            try tab.live(in: "Asia/Kathmandu")
            try tab.open(address)
            try tab.run("Date.now = () => 0; location.hash = '#/causes'")
            try tab.wait("the timeline is there", for: "document.querySelector('.timeline')")
            let time = "document.querySelector('.writes li[data-key=\"bell\"] time')?.firstChild.textContent"
            try await eventually("a write is traced") {
                try await shop.publish("bell", "1")
                return try tab.run("return \(time) ?? ''").string?.isEmpty == false
            }
            let text = try #require(try tab.run("return \(time)").string)
            let form = /([0-9]{2}):([0-9]{2}):([0-9]{2})\.[0-9]{3}Z/
            let match = try #require(text.wholeMatch(of: form), "\(text)")
            let parts = [match.1, match.2, match.3].compactMap { Int($0) }
            let seconds = parts.reduce(0) { $0 * 60 + $1 }
            let present = Int(Date().timeIntervalSince1970) % 86_400
            let distance = abs(present - seconds)
            #expect(min(distance, 86_400 - distance) <= 600, "\(text)")
        }
    }
}
