import Foundation
import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

// The view of causes. These tests take turns with those of BrowserTests.
extension BrowserTests {
    /// A row's part, the newest row of its key first.
    private func write(_ key: String, _ part: String, _ place: Int = 0) -> String {
        "document.querySelectorAll('.writes li[data-key=\"\(key)\"]')[\(place)]?.querySelector('\(part)')"
    }

    private func value(_ key: String, _ place: Int = 0) -> String {
        "\(write(key, ".write-value", place))?.textContent"
    }

    private var panel: String { "document.querySelector('.side .value')?.textContent" }

    @Test("each write has the value that it set beside its key, and all of it in the panel, also later")
    func writtenValues() async throws {
        let shop = try await Shop(isKept: true)
        try await shop.publish("lamp", #"{"watts":4.80}"#)
        // It holds back the later phases, so that the broker folds what waits for them.
        let holder = try LinePeer(path: shop.path)
        try holder.send(#"{"op":"subscribe","key":"lamp","phase":1,"ack":true}"# + "\n")
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.run("location.hash = '#/causes'")
            try tab.wait("one from before the page is there", for: "\(value("lamp")) === '{\"watts\":4.80}'")
            try await eventually("writes are traced") {
                try await shop.emit("bell", "\"ding\"")
                return try tab.run("return \(value("bell"))").string == "\"ding\""
            }
            let long = String(repeating: "x", count: 150_000)
            for value in [#"{"watts":4.90}"#, "\"\(long)\"", #"{"watts":5.10}"#] {
                try await shop.publish("lamp", value)
            }
            for (place, text) in [(0, #"{"watts":5.10}"#), (2, #"{"watts":4.90}"#)] {
                try tab.wait("\(text) is there", for: "\(value("lamp", place)) === '\(text)'")
            }
            try tab.wait("a long one begins", for: "\(value("lamp", 1)).startsWith('\"xxx')")
            #expect(try tab.run("return \(value("lamp", 1)).length").integer ?? .max < 1_000)
            try tab.run("\(write("lamp", "button", 2)).click()")
            try tab.wait("it is there as it was written", for: "\(panel)?.includes('\"watts\": 4.90')")
            let rest = "document.querySelector('.side').textContent.includes('Written again since')"
            try tab.wait("it isn't the newest", for: rest)
            try tab.run("\(write("lamp", "button", 1)).click()")
            try tab.wait("all of the long one is there", for: "\(panel)?.length === \(long.count + 2)")
            try tab.run("\(write("bell", "button")).click()")
            try tab.wait("an emit's is there, too", for: "\(panel) === '\"ding\"'")
        }
    }

    @Test("no write is missing between the last ones before the page was opened and the traced ones")
    func seam() async throws {
        let shop = try await Shop()
        try await shop.publish("lamp", "1")
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.wait("the page is live", for: "document.getElementById('state').dataset.state === 'live'")
            try tab.run(
                """
                const real = window.fetch;
                window.fetch = async (place, options) => {
                  const isTrace = String(options?.body).includes('"op":"trace"');
                  if (isTrace) await new Promise((done) => setTimeout(done, 2000));
                  return real(place, options);
                };
                location.hash = '#/causes';
                """
            )
            let keys = "[...document.querySelectorAll('.writes li')].map((row) => row.dataset.key)"
            try tab.wait("the earlier one is there", for: "\(keys).includes('lamp')")
            try await shop.publish("bell", "1")
            let bells = "\(keys).filter((key) => key === 'bell')"
            try tab.wait("the later one is there", for: "\(bells).length === 1")
        }
    }

    /// Waits until the page traces. Of writes from before that, it doesn't know who was told.
    private func untilTraced(on tab: Tab, by writer: LinePeer) async throws {
        try await eventually("writes are traced") {
            try writer.send("emit ring 1\n")
            let ring = "document.querySelector('.writes li[data-key=ring]')"
            return try tab.run("return \(ring) !== null").text == "true"
        }
    }

    @Test("only chosen lanes are drawn, with the writes that concern them")
    func chosenLanes() async throws {
        let shop = try await Shop()
        let watcher = try LinePeer(path: shop.path)
        try watcher.send("hello watcher\nsubscribe bell\n")
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.run("location.hash = '#/causes'")
            try await untilTraced(on: tab, by: try LinePeer(path: shop.path))
            let ann = try LinePeer(path: shop.path)
            try ann.send("hello ann\npublish lamp 1\n")
            try await shop.publish("bell", "1")
            try await shop.publish("door", "1")
            let heads = "[...document.querySelectorAll('.lane-names span')].map((head) => head.textContent)"
            let keys = "[...document.querySelectorAll('.writes li')].map((row) => row.dataset.key)"
            for key in ["lamp", "bell", "door"] {
                try tab.wait("\(key) is there", for: "\(keys).includes('\(key)')")
            }
            try tab.wait("the watcher was told", for: "\(heads).includes('watcher')")
            func choose(_ name: String) throws {
                let label = "[...document.querySelectorAll('.choice label')]"
                let found = "\(label).find((label) => label.textContent === '\(name)').querySelector('input')"
                try tab.run("\(found).click()")
            }
            try choose("watcher")
            try tab.wait("what it was told is there", for: "\(keys).join() === 'bell'")
            #expect(try tab.run("return \(heads).join()").string == "watcher")
            #expect(try tab.run("return document.querySelectorAll('.lanes .tell').length").integer == 1)
            #expect(try tab.run("return document.querySelectorAll('.lanes .dot').length").integer == 0)
            try choose("ann")
            try tab.wait("and what ann wrote", for: "\(keys).toSorted().join() === 'bell,lamp'")
            try ann.send("publish lamp 2\n")
            try tab.wait("also from now on", for: "\(keys).toSorted().join() === 'bell,lamp,lamp'")
            #expect(try tab.run("return document.querySelector('summary').textContent").string == "2 lanes")
            try choose("ann")
            try choose("watcher")
            try tab.wait("all are back", for: "\(keys).includes('door') && \(heads).includes('test')")
        }
    }

    @Test("what is shown is saved as a recording, which replay plays with its causes, on another bus")
    func saving() async throws {
        let shop = try await Shop()
        let server = try LinePeer(path: shop.path)
        try server.send("hello lamp-server\nserve lamp.switch\n")
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.saveFiles(in: shop.folder)
            try tab.run("location.hash = '#/causes'")
            let ann = try LinePeer(path: shop.path)
            try await untilTraced(on: tab, by: ann)
            try ann.send("hello ann\npublish door {\"open\": 1.50}\npublish door 2\n")
            try ann.send("publish gone 3\ndelete gone\ncall lamp.switch 7\n")
            var called = ""
            while !called.contains("\"event\":\"call\"") { called = try server.text() }
            let call = try #require(called.firstMatch(of: /"call":"(\d+)"/)?.1)
            let revision = try #require(called.firstMatch(of: /"revision":(\d+)/)?.1)
            try server.send(#"{"op":"publish","key":"lamp","value":7,"cause":\#(revision)}"# + "\n")
            try server.send("return \(call) true\n")
            let answered = "[...document.querySelectorAll('.chip[data-outcome=answered]')].length === 1"
            try tab.wait("all is there", for: "\(answered) && \(value("lamp")) === '7'")
            try tab.wait("with values", for: "\(value("door", 1)) === '{\"open\": 1.50}'")
            let save = "[...document.querySelectorAll('button')].find((it) => it.textContent === 'Save')"
            try tab.run("\(save).click()")
            let path = shop.folder + "/causes.ndjson"
            try await eventually("it is saved") { FileIdentity(path: path) != nil }
        }
        let text = try String(contentsOfFile: shop.folder + "/causes.ndjson", encoding: .utf8)
        #expect(text.contains(#""value":{"open": 1.50}}"#))
        let other = try await Shop()
        let words = ["replay", shop.folder + "/causes.ndjson", "--speed", "max", "--socket", other.path]
        let replay = try TestProgram("plugboard", words, in: shop.folder, output: .files)
        #expect(try await replay.end() == 0, "\(replay.errors)")
        #expect(!replay.errors.contains("missing"), "\(replay.errors)")
        #expect(try await other.text("door") == "2")
        #expect(try await other.text("lamp") == "7")
        #expect(try await other.text("gone") == nil)
    }
}
