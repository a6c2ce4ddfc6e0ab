import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

// Whether all of the page can be read. These tests take turns with those of BrowserTests.
extension BrowserTests {
    @Test("all text of each view, panel and dialog has a contrast of at least 4.5, light and dark")
    func contrast() async throws {
        let shop = try await Shop()
        try await shop.publish("lamp", #"{"watts":4.90,"on":true,"name":"hall"}"#)
        let watcher = try LinePeer(path: shop.path)
        try watcher.send("hello watcher\nsubscribe lamp\npause 1\n")
        let server = try LinePeer(path: shop.path)
        try server.send("hello server\nserve bell.*\n")
        let address = try await dashboard(shop, ["--write"])
        try await Browser.shared.get().withTab(address) { tab in
            try tab.resize(width: 1_280, height: 800)
            func audit(_ what: String) throws {
                for scheme in ["light", "dark"] {
                    try tab.prefer(scheme)
                    let failures = try ContrastAudit.failures(tab)
                    #expect(failures == "", "\(what), \(scheme)")
                }
            }
            try tab.wait("the key is there", for: row("lamp"))
            try await shop.publish("lamp", #"{"watts":5.10,"on":true}"#)
            try audit("keys")
            try tab.run("location.hash = '#/keys/lamp'")
            try tab.wait("its panel is there", for: "document.querySelector('.side .why li')")
            try audit("a key")
            try tab.press("?")
            try audit("the list of keys")
            try tab.press("Escape")
            try dialogs(tab, audit)
            try tab.run("location.hash = '#/causes'")
            try tab.wait("the timeline is there", for: "document.querySelector('.timeline')")
            try audit("causes")
            try await eventually("writes are traced") {
                try await shop.publish("lamp", "1")
                try watcher.send("call bell.ring 1\nemit bell 1\n")
                return try tab.run("return document.querySelectorAll('.chip').length > 6").text == "true"
            }
            try tab.run("document.querySelector('.choice').open = true")
            try audit("causes with rows, and the choice of lanes")
            try tab.run("document.querySelector('.writes li[data-key=lamp] button').click()")
            try tab.wait("a write is chosen", for: "document.querySelector('.side .value')")
            try audit("a write")
            try tab.run("location.hash = '#/graph'")
            try tab.wait("the graph is there", for: "document.querySelector('.node[data-name=watcher]')")
            try audit("the graph")
            try tab.run("document.querySelector('.node[data-name=watcher]').click()")
            try tab.wait("a client is there", for: "document.querySelector('.side dl')")
            try audit("a client")
            try tab.run("location.hash = '#/health'")
            try tab.wait("a problem is there", for: "document.querySelector('.health tr[data-state=paused]')")
            try audit("health")
            shop.stopBroker()
            try tab.wait("it is gone", for: "!document.getElementById('notice').hidden")
            try audit("no broker")
        }
    }

    /// The dialogs that write and ask, with what they say.
    private func dialogs(_ tab: Tab, _ audit: (String) throws -> Void) throws {
        try tab.run(
            """
            document.getElementById('write').click();
            const form = document.querySelector('.write-form');
            form.querySelector('[name=key]').value = '$x';
            form.querySelector('button[type=submit]').click();
            """
        )
        try tab.wait("it can't be written", for: "document.querySelector('.outcome .complaint')")
        try audit("a complaint")
        try tab.run(
            """
            const form = document.querySelector('.write-form');
            form.querySelector('[name=key]').value = 'lamp';
            form.querySelector('button[type=submit]').click();
            """
        )
        try tab.wait("it is written", for: "document.querySelector('.outcome .done')")
        try audit("what was done")
        try tab.press("Escape")
        try tab.run("\(row("lamp")).querySelector('.acts button').click()")
        try tab.wait("it is asked", for: "document.querySelector('.ask-form[open]')")
        try audit("what is asked")
        try tab.press("Escape")
    }
}
