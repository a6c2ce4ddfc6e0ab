import Foundation
import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

// The views of health and of the graph. These tests take turns with those of BrowserTests.
extension BrowserTests {
    private func card(_ title: String) -> String {
        "[...document.querySelectorAll('.health .card')]"
            + ".find((card) => card.querySelector('h3').textContent === '\(title)')"
    }

    @Test(
        "health begins with what is wrong, and says who is busy; its plots begin at zero, its bytes are decimal"
    )
    func health() async throws {
        let shop = try await Shop()
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.run("location.hash = '#/health'")
            let titles = "[...document.querySelectorAll('.health h3')].map((title) => title.textContent)"
            try tab.wait("problems are first", for: "\(titles)[0] === 'Problems'")
            let problems = "\(card("Problems")).textContent"
            try tab.wait("there are none", for: "\(problems).includes('None')")
            for (title, example) in [
                ("Busiest keys", "plugboard publish"), ("Busiest clients", "plugboard subscribe"),
                ("Plugins", "plugboard up"),
            ] {
                let text = "\(card(title)).textContent"
                try tab.wait("\(title) says what to try", for: "\(text).includes('\(example)')")
            }
            let memory = "\(card("Memory")).querySelector('.figure').textContent"
            // The broker runs in the process of the tests, which may be large.
            try tab.wait(
                "memory is in MB or GB, as in the command", for: #"/^[\d.]+ [MG]B$/.test(\#(memory))"#)
            let bottom = "\(card("Memory")).querySelector('.plot-bottom').textContent"
            try tab.wait("it is plotted from zero", for: "\(bottom) === '0 B'")
            #expect(try tab.run("return \(titles).includes('Longest wait for the broker')").text == "true")
            let lamp = try await Bus.connect(name: "lamp", path: shop.path)
            lamp.health(.down, "no bulb")
            lamp.health(.down, "no bulb", counts: ["dark": 2])
            let watcher = try LinePeer(path: shop.path)
            try watcher.send("hello watcher\nsubscribe bell\npause 1\n")
            let writer = try LinePeer(path: shop.path)
            try writer.send("hello ringer\n")
            func rows(_ title: String) -> String {
                "[...\(card(title)).querySelectorAll('tbody tr')].map((row) => row.textContent)"
            }
            let client = "\(card("Busiest clients")).querySelector('tbody .client')?.textContent"
            for (what, expected) in [
                ("\(rows("Problems")).join('|')", /lampdown.*no bulb, dark 2\|watcherpaused.*/),
                ("\(rows("Busiest keys")).join('|')", /bell[0-9.]+\|door[0-9.]+.*/), (client, /ringer/),
            ] {
                try await eventually("it is told: \(what)") {
                    let ringing = String(repeating: "publish bell 1\n", count: 20)
                    try writer.send(ringing + "publish door 1\n")
                    return try tab.run("return \(what)").string?.wholeMatch(of: expected) != nil
                }
            }
            let isTold = "\(rows("Plugins")).some((row) => /^lampdown.*dark 2$/.test(row))"
            try tab.wait("what each tells is there", for: isTold)
            lamp.close()
        }
    }

    @Test("calls are edges from the caller over the key to its server; an empty graph says what to try")
    func callEdges() async throws {
        let shop = try await Shop()
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.run("location.hash = '#/graph'")
            let hint = "document.querySelector('.main > .waiting')"
            let example = "\(hint).textContent.includes('subscribe')"
            try tab.wait("it says what to try", for: "!\(hint).hidden && \(example)")
            let server = try LinePeer(path: shop.path)
            try server.send("hello switcher\nserve lamp.*\n")
            let caller = try LinePeer(path: shop.path)
            try caller.send("hello ann\n")
            let edges =
                "[...document.querySelectorAll('.edge')]"
                + ".map(({ dataset: { from, to, kind } }) => `${from} ${kind} ${to}`)"
            let wanted = ["ann calls lamp.*", "lamp.* serves switcher"]
            try await eventually("the edges are there") {
                try caller.send("call lamp.on 1\n")
                let found = try tab.run("return \(edges).join()").string ?? ""
                return wanted.allSatisfy(found.contains)
            }
            #expect(try tab.run("return \(hint).hidden").text == "true")
            try tab.run(#"document.querySelector('.node[data-name="lamp.*"]').click()"#)
            try tab.wait(
                "its calls are counted",
                for: #"/Serverswitcher.*Asked[1-9]/.test(document.querySelector('.side dl')?.textContent)"#
            )
        }
    }

    @Test("however long names are, they stay in their pills, and end with what tells them apart")
    func longNames() async throws {
        let shop = try await Shop()
        let long = String(repeating: "W", count: 60)
        let writer = try LinePeer(path: shop.path)
        try writer.send("hello \(long)\npublish house.\(long).window 1\npublish lamp 2\n")
        let watcher = try LinePeer(path: shop.path)
        try watcher.send("hello w\(long)\nsubscribe house.**\nsubscribe lamp\n")
        let address = try await dashboard(shop)
        try await Browser.shared.get().withTab(address) { tab in
            try tab.run("location.hash = '#/graph'")
            for width in [1_280, 390] {
                try tab.resize(width: width, height: 800)
                try tab.wait("all are there", for: "document.querySelectorAll('.node').length === 4")
                let leaving = """
                    [...document.querySelectorAll('.node')].filter((node) => {
                      const pill = node.getBoundingClientRect();
                      return [...node.querySelectorAll('span')].some((text) => {
                        const box = text.getBoundingClientRect();
                        const isCut = text.scrollWidth <= text.clientWidth
                          || getComputedStyle(text).overflow === 'hidden';
                        return box.left < pill.left || box.right > pill.right
                          || (text.children.length === 0 && !isCut);
                      });
                    }).length
                    """
                try tab.wait("none leaves its pill", for: "\(leaving) === 0".replacing("\n", with: " "))
                let tail = "document.querySelector('.node[data-name^=house] .node-name').lastChild"
                let isWhole = "\(tail).scrollWidth <= \(tail).clientWidth"
                try tab.wait("its end is whole", for: "\(tail).textContent === '.window' && \(isWhole)")
            }
        }
    }
}
