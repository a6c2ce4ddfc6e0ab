import PlugboardPosix
import TestSupport
import Testing

// The list of keys, its search and its keyboard. These tests take turns with those of BrowserTests.
extension BrowserTests {
    /// The keys of the rows, from the top.
    private var keys: String {
        """
        [...document.querySelectorAll('.tree .row')]
          .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
          .map((row) => row.dataset.key).join()
        """.replacing("\n", with: " ")
    }

    private func head(_ title: String) -> String {
        "[...document.querySelectorAll('.heads button')].find((button) => button.textContent === '\(title)')"
    }

    private func seek(_ tab: Tab, _ text: String) throws {
        try tab.run(
            """
            const search = document.querySelector('input[type=search]');
            search.value = '\(text)';
            search.dispatchEvent(new Event('input'));
            """
        )
    }

    @Test("the heads sort by time, rate and size, and a second click gives the tree back")
    func sorting() async throws {
        let shop = try await Shop()
        try await shop.publish("b.large", #""a longer value than the others have""#)
        try await shop.publish("c.busy", "10")
        try await shop.publish("a.small", "1")
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.wait("the keys are there", for: "\(row("c.busy")) && \(text("a.small")) === '1'")
            try tab.run("\(head("Size")).click()")
            let bySize = "dashboard.health,b.large,c.busy,a.small"
            try tab.wait("the largest is on top", for: "\(keys) === '\(bySize)'")
            #expect(try tab.run("return \(row("c.busy")).querySelector('.size').textContent").string == "2 B")
            try tab.run("\(head("Age")).click()")
            try tab.wait("the newer is before the older", for: "/a.small,(.*,)?c.busy,b.large/.test(\(keys))")
            for number in 1...20 { try await shop.publish("c.busy", "\(number)") }
            try tab.wait("now another one is", for: "\(keys).startsWith('c.busy,')")
            try await shop.publish("a.small", "2")
            try tab.wait("and now the first again", for: "\(keys).startsWith('a.small,')")
            let age = "\(row("b.large")).querySelector('.age')"
            try tab.wait("it has an age", for: "\(age).textContent !== ''")
            try tab.wait("and says when that began", for: #"/^\d{4}-\d\d-\d\dT.*Z$/.test(\#(age).title)"#)
            try tab.run("\(head("Rate")).click()")
            for number in 1...50 { try await shop.publish("c.busy", "\(number)") }
            try tab.wait("the one that changes most is on top", for: "\(keys).startsWith('c.busy,a.small')")
            let rate = "\(row("c.busy")).querySelector('.rate-of').textContent"
            try tab.wait("it has a rate", for: #"/^[\d.]+\/s$/.test(\#(rate))"#)
            try tab.run("\(head("Rate")).click()")
            try tab.wait("the tree is back", for: "\(keys).startsWith('a,a.small,b,b.large,c,c.busy')")
            try tab.resize(width: 760, height: 800)
            let values = "[\(row("a.small")), document.querySelector('.heads')]"
            let lefts = "\(values).map((row) => row.querySelector('.preview').getBoundingClientRect().left)"
            try tab.wait("a value in a branch stands below its head", for: "new Set(\(lefts)).size === 1")
        }
    }

    @Test("a search finds what keys have; columns without content take no room")
    func searchingValues() async throws {
        let shop = try await Shop()
        try await shop.publish("lamp", #"{"place":"Hall"}"#)
        try await shop.publish("bell", #"{"place":"porch"}"#)
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.resize(width: 1_280, height: 800)
            try tab.wait("the keys are there", for: "\(row("lamp")) && \(row("bell"))")
            let width = "document.querySelector('.heads .changes').getBoundingClientRect().width"
            #expect(try tab.run("return \(width)").integer == 0)
            func room(_ key: String) -> String {
                "\(row(key)).querySelector('.preview').getBoundingClientRect().width"
            }
            try tab.run("window.wide = \(room("lamp"))")
            try seek(tab, "hall")
            try tab.wait("no key is called so", for: "\(keys) === ''")
            let says = "\(hint).includes('**') && \(hint).includes('in values')"
            try tab.wait("it says what to try", for: says)
            try tab.run("document.querySelector('.tools input[type=checkbox]').click()")
            try tab.wait("one has it", for: "\(keys) === 'lamp'")
            try seek(tab, "PORCH")
            try tab.wait("another one has that", for: "\(keys) === 'bell'")
            try await shop.publish("bell", "2")
            try tab.wait("changes have come", for: "\(width) > 0")
            try tab.wait("they take room", for: "\(room("bell")) < window.wide")
        }
    }

    private var hint: String { "document.querySelector('.empty').textContent" }

    @Test("a key is deleted, or ends after some seconds, from the list, when that was asked and confirmed")
    func acts() async throws {
        let shop = try await Shop()
        try await shop.publish("lamp", "4.90")
        try await shop.publish("bell", "1")
        let address = try await dashboard(shop, ["--write"])
        try await Browser.shared.get().withTab(address) { tab in
            func act(_ key: String, _ title: String) throws {
                let buttons = "[...(\(row(key))?.querySelectorAll('.acts button') ?? [])]"
                let button = "\(buttons).find((button) => button.textContent === '\(title)')"
                try tab.wait("it can be done: \(title)", for: button)
                try tab.run("\(button).click()")
                try tab.wait("it is asked", for: "document.querySelector('.ask-form[open]')")
            }
            try act("bell", "Delete…")
            try tab.run("document.querySelector('.ask-form button[type=button]').click()")
            try tab.wait("it isn't asked any more", for: "!document.querySelector('.ask-form[open]')")
            #expect(try await shop.text("bell") == "1")
            try act("bell", "Delete…")
            try tab.run("document.querySelector('.ask-form button[type=submit]').click()")
            try tab.wait("it is gone", for: "!\(row("bell"))")
            try act("lamp", "TTL…")
            try tab.run("document.querySelector('.ask-form input').value = '600'")
            try tab.run("document.querySelector('.ask-form button[type=submit]').click()")
            try tab.run("location.hash = '#/keys/lamp'")
            let ttl = "document.querySelector('.side .meta .ttl')?.textContent"
            try tab.wait("it ends", for: "/^ends in (10|9) min$/.test(\(ttl))")
            #expect(try await shop.text("lamp") == "4.90")
            try tab.run("document.getElementById('write').click()")
            let form = "[...document.querySelectorAll('.write-form [name=key], .write-form [name=value]')]"
            let fields = "\(form).map((field) => field.value).join()"
            try tab.wait("the form has the open key and its value", for: "\(fields) === 'lamp,4.90'")
        }
    }

    @Test("? lists the keys; from the search ↓ goes into the tree, and Escape leaves both")
    func shortcuts() async throws {
        let shop = try await Shop()
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.wait("the page is live", for: "document.getElementById('state').dataset.state === 'live'")
            try await shop.publish("lamp", "1")
            try tab.wait("the key is there", for: row("lamp"))
            try tab.press("?")
            let help = "document.querySelector('.help[open]')?.textContent ?? ''"
            for word in ["/", "Escape", "↓", "1 to 4"] {
                try tab.wait("it lists \(word)", for: "(\(help)).includes('\(word)')")
            }
            try tab.press("Escape")
            try tab.wait("the list is closed", for: "!document.querySelector('.help[open]')")
            try tab.press("/", "l", "a")
            let focus = "document.activeElement"
            try tab.wait("the search has the focus", for: "\(focus).type === 'search'")
            try tab.press("Down")
            try tab.wait("the tree has it", for: "\(focus).classList.contains('tree')")
            let isChosen = "\(row("lamp")).getAttribute('aria-selected') === 'true'"
            try tab.wait("its first key is chosen", for: isChosen)
            try tab.press("Escape")
            try tab.wait("it was left", for: "\(focus) === document.body")
            try tab.press("/", "Escape")
            try tab.wait("so was the search", for: "\(focus) === document.body")
            #expect(try tab.run("return document.querySelector('input[type=search]').value").string == "la")
            try tab.press("4")
            try tab.wait("keys choose views again", for: "document.querySelector('.view-health')")
        }
    }
}
