import Foundation
import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

// How the page is used, and what it costs. These tests take turns with those of BrowserTests.
extension BrowserTests {
    @Test("keys alone lead through all views: tabs, search, the tree, a key, a write, a client")
    func keyboard() async throws {
        let shop = try await Shop()
        let address = try await dashboard(shop)
        try await shop.publish("lamp.hall", "1")
        try await shop.publish("lamp.porch", "2")
        try await Browser.shared.get().withTab(address) { tab in
            try tab.wait("the keys are there", for: text("lamp.porch") + " === '2'")
            try tab.press("/", "p", "o", "r", "c", "h")
            try tab.wait("only what was sought is there", for: "!\(row("lamp.hall")) && \(row("lamp.porch"))")
            try tab.press("Down", "Down", "Enter")
            try tab.wait("the key is there", for: "\(side) === 'lamp.porch'")
            try tab.press("Escape")
            try tab.wait("it is closed", for: "document.querySelector('.has-detail') === null")
            try tab.press("2")
            try await shop.publish("lamp.porch", "3")
            let newest = "document.querySelector('.writes li')?.textContent"
            try tab.wait("the newest write is there", for: "\(newest).includes('porch')")
            // The pattern, the choice of lanes, the buttons Hold and Save, the newest write.
            try tab.press("/", "Tab", "Tab", "Tab", "Tab", "Enter")
            try tab.wait("the write is there", for: "\(side) === 'lamp.porch'")
            try tab.press("Escape", "3")
            let node = #"document.querySelector('.node[data-name="test"]')"#
            try tab.wait("the client is there", for: node)
            try tab.run("\(node).focus()")
            try tab.press("Enter")
            try tab.wait("it is described", for: "\(side) === 'test'")
            try tab.press("Escape", "4")
            try tab.wait("health is there", for: "document.querySelector('.view-health .figure')")
        }
    }

    private var side: String { "document.querySelector('.side .key-title')?.textContent" }

    @Test("who has the wrong secret sees nothing but that; the page is light or dark")
    func entry() async throws {
        let shop = try await Shop()
        try await shop.publish("lamp", "1")
        let address = try await dashboard(shop)
        let wrong = String(address.dropLast(32)) + String(repeating: "0", count: 32)
        try await Browser.shared.get().withTab(wrong) { tab in
            let notice = "document.getElementById('notice')"
            let says = "\(notice).textContent.includes('right one')"
            try tab.wait("it says so", for: "!\(notice).hidden && \(says)")
            #expect(try tab.run("return document.querySelectorAll('.row').length").integer == 0)
            let back = "getComputedStyle(document.body).backgroundColor"
            let colours = try ["light", "dark"].map { scheme in
                try tab.prefer(scheme)
                return try tab.run("return \(back)").string
            }
            #expect(colours[0] != colours[1])
        }
    }

    @Test("at 390 pixels nothing is wider than the screen, and a key's page takes all of it")
    func narrow() async throws {
        let shop = try await Shop()
        let text = String(repeating: "wide ", count: 60)
        let key = "a.key.of.many.words.that.goes.on.and.on.for.longer.than.the.screen"
        try await shop.publish(key, "\"\(text)\"")
        try await shop.publish("lamp", "1")
        let address = try await dashboard(shop, ["--write"])
        try await Browser.shared.get().withTab(address) { tab in
            try tab.resize(width: 390, height: 844)
            for view in ["keys", "causes", "graph", "health", "keys/lamp"] {
                try tab.run("location.hash = '#/\(view)'")
                try tab.wait("\(view) is there", for: "document.querySelector('#view').children.length > 0")
                let width = try tab.run("return document.documentElement.scrollWidth").integer ?? 1_000
                #expect(width <= 390, "\(view)")
            }
            let rest = "document.querySelector('.main').getBoundingClientRect().width"
            let side = "document.querySelector('.side').getBoundingClientRect().width"
            #expect(try tab.run("return \(side) >= 380 || \(rest) === 0").text == "true")
            let close = "document.querySelector('.side .close').getBoundingClientRect()"
            #expect(try tab.run("return \(close).right <= 390 && \(close).width > 0").text == "true")
        }
    }

    @Test("a hidden page has no connection, and goes on when it is seen again")
    func hidden() async throws {
        let shop = try await Shop()
        try await shop.publish("lamp", "1")
        let address = try await dashboard(shop)
        let observers = try ObserverCount(of: "lamp", path: shop.path)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.wait("the value is there", for: text("lamp") + " === '1'")
            #expect(try observers.now() > 0)
            try hide(tab, true)
            try observers.waitForNone()
            let state = "document.getElementById('state').dataset.state"
            try tab.wait("it says so", for: "\(state) === 'hidden'")
            try await shop.publish("lamp", "2")
            #expect(try tab.run("return " + text("lamp")).string == "1")
            try hide(tab, false)
            try tab.wait("the value is new", for: text("lamp") + " === '2' && \(state) === 'live'")
        }
    }

    /// Has the page believe that it is hidden, or not: a browser without a window hides none.
    private func hide(_ tab: Tab, _ isHidden: Bool) throws {
        try tab.run(
            """
            Object.defineProperty(document, 'hidden', { configurable: true, get: () => \(isHidden) });
            document.dispatchEvent(new Event('visibilitychange'));
            """
        )
    }
}
