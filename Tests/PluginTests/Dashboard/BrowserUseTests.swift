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
        try await shop.publish("lamp.hall", "1")
        try await shop.publish("lamp.porch", "2")
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.wait("the keys are there", for: text("lamp.porch") + " === '2'")
            try tab.press("/", "p", "o", "r", "c", "h")
            try tab.wait("only what was sought is there", for: "!\(row("lamp.hall")) && \(row("lamp.porch"))")
            try tab.press("Tab", "Down", "Down", "Enter")
            try tab.wait("the key is there", for: "\(side) === 'lamp.porch'")
            try tab.press("Escape")
            try tab.wait("it is closed", for: "document.querySelector('.has-detail') === null")
            try tab.press("2")
            try tab.wait("the writes are there", for: "document.querySelectorAll('.writes li').length === 2")
            // The pattern, the button Hold, the newest write.
            try tab.press("/", "Tab", "Tab", "Enter")
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

    @Test("a click on a plugin shows its state, its restarts and its last lines; a broken one has a colour")
    func plugins() async throws {
        let home = try TemporaryFolder()
        let manifest = SwiftProgram.package + "/plugins/dashboard/plugin.json"
        try home.write("plugins/dashboard/plugin.json", InputFile.contents(path: manifest, limit: 65_536))
        try home.write("plugins/lamp/plugin.json", #"{"name":"lamp","run":"run","publishes":["light"]}"#)
        let shining = "echo publish light 1 >&$PLUGBOARD_FD; echo I shine; exec sleep 600"
        try home.script("plugins/lamp/run", shining)
        try home.write("plugins/stone/plugin.json", #"{"name":"stone","run":"run"}"#)
        try home.script("plugins/stone/run", "echo I fall; exit 3")
        let words = ["up", "--plugins", "plugins", "--memory", "--socket", home.socket]
        let up = try PluginProcess("plugboard", words, folder: home.path)
        defer { up.signal(SIGINT) }
        try await eventually("up greets") { up.errors.contains("Plugboard is up") }
        let asking = ["dashboard", "--no-browser", "--socket", home.socket]
        let command = try PluginProcess("plugboard", asking, folder: home.path)
        try await eventually("the address is there") { command.output.hasSuffix("\n") }
        let address = command.output.trimmingCharacters(in: .whitespacesAndNewlines)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.run("location.hash = '#/graph'")
            func node(_ name: String) -> String { #"document.querySelector('.node[data-name="\#(name)"]')"# }
            let facts = "document.querySelector('.side dl')?.textContent"
            let log = "document.querySelector('.side .log')?.textContent"
            try tab.wait("the lamp is there", for: node("lamp"))
            try tab.run("\(node("lamp")).dispatchEvent(new Event('click'))")
            try tab.wait("its log is there", for: "\(log)?.includes('I shine')")
            #expect(try tab.run("return \(facts)").string?.contains("running") == true)
            // It is there only while it waits to be started again, or is broken.
            let fallen = """
                (() => {
                  const node = \(node("stone"));
                  const colour = (state) =>
                    getComputedStyle(document.querySelector(`.legend i[data-state=${state}]`)).backgroundColor;
                  const own = node && getComputedStyle(node.querySelector('rect')).stroke;
                  if (![colour('lagging'), colour('broken')].includes(own)) return false;
                  node.dispatchEvent(new Event('click'));
                  return true;
                })()
                """
            try tab.wait("a stone has fallen, and has a colour", for: fallen)
            try tab.wait("its log is there, too", for: "\(log)?.includes('I fall')")
            try tab.wait("it was started again", for: "/Restarts[1-9]/.test(\(facts))")
        }
    }

    @Test("on a busy bus the page takes samples: values, rates, traces")
    func busy() async throws {
        let shop = try await Shop()
        try await shop.publish("lamp", "0")
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.wait("the value is there", for: text("lamp") + " === '0'")
            let load = try Load("lamp", path: shop.path)
            // While it rests, it observes only for moments.
            try ObserverCount(of: "lamp", path: shop.path).waitForNone()
            try tab.run("window.before = " + text("lamp"))
            try tab.wait("a sample comes", for: text("lamp") + " !== window.before")
            try tab.run("location.hash = '#/graph'")
            let note = #"document.querySelector('.node[data-name="lamp"] .node-extra')"#
            try tab.wait("the rate is counted", for: "\(note)?.textContent.includes('/s')")
            try tab.run("location.hash = '#/causes'")
            try tab.wait(
                "it says that these are samples",
                for: "document.querySelector('.total').textContent.includes('samples')"
            )
            #expect(try tab.run("return document.querySelectorAll('.writes li').length").integer ?? 0 <= 120)
            let last = try load.stop()
            try tab.run("location.hash = '#/keys'")
            try tab.wait("the last value is shown", for: text("lamp") + " === '\(last)'")
        }
    }
}

/// Asks how many observers a key has.
private struct ObserverCount {
    private let key: String
    private let peer: LinePeer

    init(of key: String, path: String) throws {
        self.key = key
        peer = try LinePeer(path: path)
    }

    func now() throws -> Int {
        try peer.send("who \(key)\n")
        var answer = ""
        while !answer.contains("\"ok\":\"who\"") { answer = try peer.text() }
        return answer.components(separatedBy: "\"pattern\"").count - 1
    }

    func waitForNone() throws {
        try eventually("nobody observes \(key)") { try now() == 0 }
    }
}

/// Publishes numbers to a key as fast as the broker takes them, on a thread of its own.
private final class Load: Sendable {
    private let isStopping = Shared(false)
    private let last = Shared<Int?>(nil)

    init(_ key: String, path: String) throws {
        let (isStopping, last) = (isStopping, last)
        try Background.start {
            var number = 0
            do {
                let peer = try LinePeer(path: path)
                while !isStopping.get() {
                    let lines = (number + 1...number + 500).map {
                        "{\"op\":\"publish\",\"key\":\"\(key)\",\"value\":\($0)}\n"
                    }
                    try peer.send(lines.joined())
                    number += 500
                }
            } catch {
                print("a test's load: \(error)")
            }
            last.set(number)
        }
    }

    deinit { isStopping.set(true) }

    /// Stops it, and returns the last number.
    func stop() throws -> Int {
        isStopping.set(true)
        try eventually("the load ends") { last.get() != nil }
        return last.get() ?? 0
    }
}
