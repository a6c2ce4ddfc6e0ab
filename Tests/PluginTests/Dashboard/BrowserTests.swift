import Foundation
import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

// One browser shows all of these pages, one after the other, because it has one tab in front.
@Suite(
    "The dashboard in a browser",
    .enabled(if: Browser.isPossible, "chromium or chromedriver is not installed"),
    .someAtATime,
    .serialized,
    .timeLimit(.minutes(20))
)
struct BrowserTests {
    /// A dashboard of this shop, and the address of its page.
    func dashboard(_ shop: Shop, _ arguments: [String] = []) async throws -> String {
        let process = try shop.start("dashboard", arguments)
        try await eventually("the dashboard says its address") { process.output.contains("\n") }
        return process.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func row(_ key: String) -> String { #"document.querySelector('.row[data-key="\#(key)"]')"# }

    func text(_ key: String) -> String { "\(row(key))?.querySelector('.preview').textContent" }

    @Test("a value changes on the page within 300 ms of its publish")
    func change() async throws {
        let shop = try await Shop()
        try await shop.publish("lamp", "0")
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.wait("the value is there", for: "\(text("lamp")) === '0'")
            let writer = try LinePeer(path: shop.path)
            var best = Double.infinity
            for number in 1...5 {
                // The page itself takes the time of the change, because asking takes long.
                try tab.run(
                    """
                    window.changed = null;
                    const value = \(row("lamp")).querySelector('.preview');
                    new MutationObserver((_, observer) => {
                      if (value.textContent === '\(number)') { window.changed = Date.now(); observer.disconnect(); }
                    }).observe(value, { childList: true, characterData: true, subtree: true });
                    """
                )
                let sent = Date().timeIntervalSince1970 * 1_000
                try writer.send("publish lamp \(number)\n")
                try tab.wait("the value has changed", for: "window.changed !== null")
                best = min(best, Double(try tab.run("return window.changed").integer ?? .max) - sent)
            }
            #expect(best < 300, "\(best) ms")
            #expect(try tab.run("return \(row("lamp")).querySelector('.changes').textContent").string == "5×")
        }
    }

    @Test("markup in keys and values is shown as text, and runs nothing")
    func markup() async throws {
        let shop = try await Shop()
        let key = "<img/src=x/onerror=window.hacked=1>"
        let value = #"<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"#
        try await shop.publish(key, JSON(encoding: value).text)
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.wait(
                "the key is there", for: "document.querySelector('.row .token')?.textContent.includes('<img')"
            )
            let shown = try JSON(encoding: JSON(encoding: value).text).text
            try tab.wait("its value is there, as text", for: "\(text(key)) === \(shown)")
            try tab.run("location.hash = '#/keys/' + encodeURIComponent('\(key)')")
            try tab.wait(
                "its own page is there",
                for: "document.querySelector('.side .value')?.textContent.includes('<script>')"
            )
            try tab.run("location.hash = '#/causes'")
            try tab.wait(
                "the write is there",
                for: "[...document.querySelectorAll('.write-key')].some(key => key.textContent === '\(key)')"
            )
            #expect(try tab.run("return document.querySelectorAll('img, body script').length").integer == 0)
            #expect(try tab.run("return window.hacked === undefined").text == "true")
            #expect(try tab.run("return location.href.includes('\(address.suffix(32))')").text == "false")
        }
    }

    @Test("a write leads to its causes, and the graph shows who takes part")
    func demo() async throws {
        let shop = try await Shop()
        for plugin in [ShopPlugin.cart, .priceIndicator, .reviewBanner, .logger] {
            try shop.start(plugin.rawValue)
        }
        let feed = ShopPlugin.reviewTracker.folder + "/demo/phones.ndjson"
        try shop.start("review-tracker", ["--file", feed, "--rate", "500"])
        try await shop.waitFor("cart.summary", #"{"items":0,"total":0.00}"#)
        try await eventually("the feed is read") { try await shop.text("catalog.brick-2") != nil }
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.run("location.hash = '#/causes'")
            try tab.wait("the timeline is there", for: "document.querySelector('.timeline')")
            let writer = try LinePeer(path: shop.path)
            try writer.send("hello customer\n")
            let told = "document.querySelector('.writes li[data-key=\"cart.summary\"] .told b')"
            try eventually("the new sum is traced") {
                try writer.send("emit cart.add {\"sku\":\"brick-2\"}\n")
                return try tab.run("return \(told)?.textContent").string == "logger"
            }
            try tab.run("document.querySelector('.writes li[data-key=\"cart.summary\"] button').click()")
            try tab.wait(
                "the chain is there", for: "document.querySelectorAll('.why .chain li').length === 3"
            )
            let chain = try tab.run(
                "return [...document.querySelectorAll('.why .chain li')].map((li) => li.dataset.key).join()"
            )
            #expect(chain.string == "cart.summary,cart.items,cart.add")
            #expect(
                try tab.run("return document.querySelectorAll('.lanes .cause.lit').length").integer ?? 0 >= 2
            )
            try call(tab, writer)
            try graph(tab, writer)
        }
    }

    /// A call is a row with its caller and its server, and what stands below it goes on.
    private func call(_ tab: Tab, _ customer: LinePeer) throws {
        try customer.send("call cart.add {\"sku\":\"brick-2\"}\n")
        let row =
            "[...document.querySelectorAll('.writes li[data-key=\"cart.add\"]')]"
            + ".find((li) => li.querySelector('.op[data-op=call]'))"
        try tab.wait(
            "the call was answered",
            for: "\(row)?.querySelector('.told .chip[data-outcome=answered] b')?.textContent === 'cart'"
        )
        try tab.run("\(row).querySelector('button').click()")
        try tab.wait(
            "its chain is there", for: "document.querySelector('.why .chain li .op')?.textContent === 'call'"
        )
        let caller = try tab.run("return \(row).querySelector('.write-by').textContent")
        #expect(caller.string?.contains("customer") == true)
    }

    private func graph(_ tab: Tab, _ customer: LinePeer) throws {
        try tab.run("location.hash = '#/graph'")
        let edges = [
            ("cart", "cart.items", "writes"), ("cart.items", "price-indicator", "observes"),
            ("price-indicator", "cart.summary", "writes"), ("review-tracker", "catalog.**", "writes"),
            ("reviews.**", "review-banner", "observes"), ("cart.summary", "logger", "observes"),
            ("cart.add", "cart", "observes"), ("customer", "cart.add", "writes"),
        ]
        for (from, to, kind) in edges {
            let edge = #".edge[data-from="\#(from)"][data-to="\#(to)"][data-kind="\#(kind)"]"#
            try eventually("the edge from \(from) to \(to)") {
                // An emit is seen only as it happens.
                try customer.send("emit cart.add {\"sku\":\"brick-2\"}\n")
                return try tab.run("return document.querySelector('\(edge)') !== null").text == "true"
            }
        }
        try tab.run("document.querySelector('.node[data-name=cart]').dispatchEvent(new Event('click'))")
        try tab.wait(
            "the client is described", for: "document.querySelector('.side dl')?.textContent.includes('live')"
        )
    }

    @Test("an observer that is paused on the page shows it in colour, and goes on when it is released")
    func pausing() async throws {
        let shop = try await Shop()
        try await shop.publish("lamp", "1")
        let watcher = try LinePeer(path: shop.path)
        try watcher.send("hello watcher\nsubscribe lamp\n")
        while try !watcher.text().contains("synced") {}
        let address = try await dashboard(shop, ["--write"])
        try await Browser.shared.get().withTab(address) { tab in
            try tab.run("location.hash = '#/keys/lamp'")
            let observer = ".observer[data-state=\"live\"] button"
            try tab.wait("the observer is there", for: "document.querySelector('\(observer)')")
            try tab.run("document.querySelector('\(observer)').click()")
            let mark = "document.querySelector('.observer[data-state=\"paused\"] .mark-state')"
            try tab.wait("it is paused", for: mark)
            let colours = try tab.run(
                """
                const colour = (element) => getComputedStyle(element).color;
                const plain = document.createElement('span');
                plain.className = 'mark-state';
                \(mark).after(plain);
                return colour(\(mark)) !== colour(plain);
                """
            )
            #expect(colours.text == "true")
            try tab.run("location.hash = '#/graph'")
            let edge = "document.querySelector('.edge[data-to=\"watcher\"][data-state=\"paused\"]')"
            try tab.wait("its edge is paused", for: edge)
            try tab.run("location.hash = '#/keys/lamp'")
            try await shop.publish("lamp", "2")
            try tab.wait("it can be stepped", for: button("Step"))
            try tab.run("\(button("Step")).click()")
            while try !watcher.text().contains(#""value":2"#) {}
            try tab.wait("it can be released", for: button("Resume"))
            try tab.run("\(button("Resume")).click()")
            try tab.wait("it is live", for: "document.querySelector('\(observer)')")
        }
    }

    /// A button beside an observer.
    private func button(_ title: String) -> String {
        "[...document.querySelectorAll('.observer button')].find((button) => button.textContent === '\(title)')"
    }

    @Test("the form says who would be told, and writes")
    func writing() async throws {
        let shop = try await Shop()
        try await shop.publish("lamp", "1")
        let address = try await dashboard(shop, ["--write"])
        try await Browser.shared.get().withTab(address) { tab in
            try tab.wait("the page may write", for: "!document.getElementById('write').hidden")
            try tab.run(
                """
                document.getElementById('write').click();
                const form = document.querySelector('.write-form');
                form.querySelector('[name=key]').value = 'lamp';
                form.querySelector('[name=value]').value = '{"on": true, "n": 4.90}';
                form.querySelector('button[type=button]:not(.close)').click();
                """
            )
            try tab.wait("it tells who observes", for: "document.querySelector('.outcome .observer')")
            try tab.run("document.querySelector('.write-form button[type=submit]').click()")
            try tab.wait("it is written", for: "document.querySelector('.outcome .done')")
        }
        #expect(try await shop.text("lamp") == #"{"on": true, "n": 4.90}"#)
    }

    @Test("the page says that the broker is gone, and goes on by itself when it is back, in two tabs")
    func broker() async throws {
        let shop = try await Shop()
        try await shop.publish("lamp", "1")
        let address = try await dashboard(shop)
        let browser = try Browser.shared.get()
        let state = "document.getElementById('state').dataset.state"
        try await browser.withTab(address) { first in
            try await browser.withTab(address) { second in
                let tabs = [first, second]
                for tab in tabs { try tab.wait("the value is there", for: "\(text("lamp")) === '1'") }
                shop.stopBroker()
                for tab in tabs {
                    try tab.wait(
                        "it says so", for: "\(state) === 'gone' && !document.getElementById('notice').hidden"
                    )
                }
                try await shop.restartBroker()
                try await shop.publish("lamp", "2")
                for tab in tabs { try tab.wait("the value is new", for: "\(text("lamp")) === '2'") }
            }
            try first.wait(
                "it is live", for: "\(state) === 'live' && document.getElementById('notice').hidden"
            )
        }
    }

    @Test("a tree of very many keys has only the rows on the screen")
    func manyKeys() async throws {
        let shop = try await Shop()
        let writer = try LinePeer(path: shop.path)
        // Debug builds are slow. Past 1,000 keys the page does the same for any number.
        let batches = LongSuite.count(100, quick: 5)
        for batch in 0..<batches {
            let writes = (0..<1_000).map { #"{"op":"publish","key":"k\#(batch).n\#($0)","value":\#($0)}"# }
            try writer.send(#"{"op":"batch","id":1,"writes":[\#(writes.joined(separator: ","))]}"# + "\n")
            while try !writer.text().contains(#""ok":"batch""#) {}
        }
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            // With the dashboard's own health.
            let total = LongSuite.isOn ? "100 k keys" : "5,001 keys"
            try tab.wait(
                "all are counted", for: "document.querySelector('.total').textContent === '\(total)'"
            )
            try tab.run("\(row("k3")).click()")
            try tab.wait("a branch is open", for: "\(text("k3.n3")) === '3'")
            try tab.run("document.querySelector('.tree').scrollTop = 32 * 900")
            try tab.wait("its later rows come", for: "\(text("k3.n896")) === '896'")
            #expect(try tab.run("return document.querySelectorAll('.row').length").integer ?? 1_000 < 100)
        }
    }
}
