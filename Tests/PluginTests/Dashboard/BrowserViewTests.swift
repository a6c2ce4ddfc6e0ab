import Foundation
import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

// What the views show. These tests take turns with those of BrowserTests.
extension BrowserTests {
    @Test("a key's page shows its value, its changes, a plot and its observers; Health who is paused")
    func keyPage() async throws {
        let shop = try await Shop()
        try await shop.publish("lamp.hall", #"{"watts":4.90,"on":true}"#)
        try await shop.publish("bell", "1")
        let watcher = try LinePeer(path: shop.path)
        try watcher.send("hello watcher\nsubscribe lamp.*\n")
        while try !watcher.text().contains("synced") {}
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.wait("the keys are there", for: row("lamp.hall"))
            try tab.run(
                """
                const search = document.querySelector('input[type=search]');
                search.value = 'lamp.*';
                search.dispatchEvent(new Event('input'));
                """
            )
            try tab.wait("a pattern finds its keys", for: "\(row("lamp.hall")) && !\(row("bell"))")
            try tab.run("\(row("lamp.hall")).click()")
            let value = "document.querySelector('.side .value')?.textContent"
            try tab.wait("the value is there as it was written", for: "\(value)?.includes('\"watts\": 4.90')")
            try await shop.publish("lamp.hall", #"{"watts":5.10,"on":true}"#)
            let change = "document.querySelector('.side .diff')?.textContent"
            try tab.wait("the change is there", for: "\(change) === '/watts4.905.10'")
            #expect(try tab.run("return \(row("lamp.hall")).matches('.flash, .flash-again')").text == "true")
            let plot = "document.querySelector('.side .plot-line').getAttribute('d')"
            try tab.wait("it is plotted", for: "(\(plot).match(/L/g) ?? []).length === 1")
            let observer = "document.querySelector('.side .observer[data-state=live]')?.textContent"
            try tab.wait("its observer is there", for: "\(observer)?.includes('watcher')")
            try watcher.send("pause 1\n")
            try tab.run("location.hash = '#/health'")
            let paused = "document.querySelector('.health tr[data-state=paused]')?.textContent"
            try tab.wait("who is paused is there", for: "\(paused)?.includes('watcher')")
            let lamp = try await Bus.connect(name: "lamp", path: shop.path)
            lamp.health(.degraded, "one bulb is out", counts: ["dark": 1])
            let told = "document.querySelector('.health tr[data-state=degraded]')?.textContent"
            let words = ["lamp", "degraded", "one bulb is out", "dark 1"]
            for word in words { try tab.wait("it is told: \(word)", for: "\(told)?.includes('\(word)')") }
            let own = "document.querySelector('.health tr[data-state=well]')?.textContent"
            try tab.wait("the dashboard is well", for: "\(own)?.startsWith('dashboardwell')")
            try await shop.publish(
                "odd.health", #"{"state":"down","since":5,"message":{"a":1},"counts":{"x":1.5,"y":2}}"#
            )
            let odd = "document.querySelector('.health tr[data-state=down]')?.textContent"
            try tab.wait("only what has the form is told", for: "\(odd) === 'odddowny 2'")
            try watcher.send("delete odd.health\n")
            lamp.close()
            try tab.wait("what has ended is gone", for: "\(told) === undefined")
            let figures = "[...document.querySelectorAll('.figures .card')].map((card) => card.innerText)"
            // With the dashboard's own health.
            let isCounted = "\(figures).some((text) => text.startsWith('Keys\\n3'))"
            try tab.wait("the keys are counted", for: isCounted)
        }
    }

    /// What `plugboard dashboard` prints. On a machine with very much to do it gives up after ten seconds; then
    /// it is asked again.
    private func askedAddress(_ home: TemporaryFolder) async throws -> String {
        let asking = ["dashboard", "--no-browser", "--socket", home.socket]
        for attempt in 1...10 {
            let command = try TestProgram("plugboard", asking, in: home.path, output: .files)
            if try await command.end() == 0 {
                return command.output.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            print("attempt \(attempt): \(command.errors)")
        }
        Issue.record("the dashboard's address never came")
        return ""
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
        let up = try TestProgram("plugboard", words, in: home.path, output: .files)
        defer { up.signal(SIGINT) }
        try await eventually("up greets") { up.errors.contains("Plugboard is up") }
        let address = try await askedAddress(home)
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
                  const own = node && getComputedStyle(node).borderTopColor;
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
            let load = try PageLoad("lamp", path: shop.path)
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
