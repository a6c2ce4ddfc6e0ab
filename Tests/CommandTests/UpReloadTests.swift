import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("up reads plugin.json again", .someAtATime)
struct UpReloadTests {
    private let shop: Shop
    /// Publishes `a` and then `b` on request, and prints the results.
    private let script = """
        echo "$*" >> arguments
        while :; do
            if [ -e go ]; then
                rm go
                for key in a b; do "$PLUGBOARD_PROGRAM" publish $key 1 > /dev/null 2>&1; echo "$key $?"; done
            fi
            sleep 0.02
        done
        """

    init() throws {
        shop = try Shop()
        try shop.add("one", script, json: #","publishes":["a"]"#)
    }

    private func write(_ json: String, of plugin: String = "one") throws {
        try shop.folder.write("plugins/\(plugin)/plugin.json", json)
    }

    /// The status of each attempt to publish. It shows what the plugin may publish.
    private func tried(_ up: Run) throws -> [String] {
        let before = up.output.split(separator: "\n").count
        try shop.folder.write("plugins/one/go", "")
        try eventually("it tried") { up.output.split(separator: "\n").count == before + 2 }
        return up.output.split(separator: "\n").suffix(2).map { String($0.drop { $0 != "|" }.dropFirst(2)) }
    }

    private func states() throws -> [String] {
        try plugboard("plugins", in: shop.folder).lines.dropFirst().map {
            $0.split(separator: " ").prefix(2).joined(separator: " ")
        }
    }

    private func reload() throws -> Finished { try plugboard("plugins", "reload", in: shop.folder) }

    @Test("at each start of its plugin: its rights and its arguments")
    func start() throws {
        let up = try shop.up()
        #expect(try tried(up) == ["a 0", "b 1"])
        try write(#"{"name":"one","run":"run","publishes":["b"],"arguments":["-v"]}"#)
        #expect(try tried(up) == ["a 0", "b 1"])
        #expect(try plugboard("plugin", "restart", "one", in: shop.folder).end == .exited(0))
        #expect(try tried(up) == ["a 1", "b 0"])
        #expect(shop.text("one", "arguments") == "\n-v\n")
    }

    @Test("after a crash as well")
    func crash() throws {
        try shop.add("crash", #"echo "$*" >> runs; [ $# = 0 ] && exit 1; exec sleep 1000"#)
        let up = try shop.up()
        try eventually("it crashed") { up.messages.contains("crash  | exited with status 1; starting") }
        try write(#"{"name":"crash","run":"run","arguments":["mended"]}"#, of: "crash")
        try eventually("it is mended") { shop.text("crash", "runs").hasSuffix("mended\n") }
    }

    @Test("a broken file is reported with its place; the old one stays in force", arguments: [false, true])
    func broken(byReload: Bool) throws {
        let up = try shop.up()
        try write(#"{"name":"one","run":"run","publshes":["b"]}"#)
        if byReload {
            let reloaded = try reload()
            #expect(reloaded.end == .exited(1))
            #expect(reloaded.messages.contains("plugin.json:1:27: there is no field \"publshes\""))
        }
        let restarted = try plugboard("plugin", "restart", "one", in: shop.folder)
        #expect(restarted.end == .exited(0))
        #expect(restarted.messages.contains("started as before: "))
        #expect(restarted.messages.contains("there is no field \"publshes\""))
        try eventually("it is told") { up.messages.contains("one    | started as before: ") }
        try eventually("it is told") { up.messages.contains("did you mean \"publishes\"?") }
        #expect(try tried(up) == ["a 0", "b 1"])
    }

    @Test("the problem of a plugin follows its file at each reload")
    func problem() throws {
        let up = try shop.up()
        func problem() throws -> String? {
            let state = try plugboard("get", "$broker.plugins.one", in: shop.folder).output
            return try JSONObject(parsing: Array(state.utf8)[...])["problem"]?.string
        }
        let good = shop.text("one", "plugin.json")
        try eventually("it runs") { try states() == ["one running"] }
        #expect(try problem() == nil)
        try write("{")
        #expect(try reload().end == .exited(1))
        try eventually("it is told") { try problem()?.contains("plugin.json:1:2: not JSON") == true }
        try write(good)
        #expect(try reload().output == "nothing has changed\n")
        try eventually("it is over") { try problem() == nil }
        try write("{")
        #expect(try plugboard("plugin", "restart", "one", in: shop.folder).end == .exited(0))
        try eventually("it is told") { try problem()?.hasPrefix("started as before: ") == true }
        try write(#"{"name":"one","run":"run","publishes":["b"]}"#)
        #expect(try reload().output == "changed  one\n")
        try eventually("it is over") { try problem() == nil }
        #expect(up.isRunning)
    }

    @Test("reload: without the folder of plugins nothing changes, and it is said in words")
    func folderGone() throws {
        let up = try Run(["up", "--plugins", "plugins"], in: shop.folder)
        try eventually("it runs") { shop.text("one", "arguments") == "\n" }
        #expect(SystemCalls.rename("\(shop.folder.path)/plugins", to: "\(shop.folder.path)/away"))
        let reloaded = try reload()
        #expect(reloaded.end == .exited(1))
        #expect(reloaded.messages.hasSuffix("not taken in: --plugins plugins: there is no such folder\n"))
        let told = "the plugins stay as they are: --plugins plugins: there is no such folder\n"
        try eventually("it is told") { up.messages.contains(told) }
        #expect(try states() == ["one running"])
        #expect(up.isRunning)
    }

    @Test("if it now names another plugin, that is reported, and the old one stays in force until a reload")
    func renamed() throws {
        let up = try shop.up()
        try write(#"{"name":"two","run":"run","publishes":["b"]}"#)
        #expect(try plugboard("plugin", "restart", "one", in: shop.folder).end == .exited(0))
        try eventually("it is told") { up.messages.contains("its name is \"two\" now") }
        let reloaded = try reload()
        #expect(reloaded.lines == ["added    two", "removed  one"])
        #expect(up.messages.contains("one    | no plugin.json has its name any more: stopping it\n"))
        try eventually("the old one is gone") { try states() == ["two running"] }
        #expect(try plugboard("publish", "x", "1", "--name", "one", in: shop.folder).end == .exited(0))
    }

    @Test("reload: rights change at once, in the running process")
    func rights() throws {
        let up = try shop.up()
        #expect(try tried(up) == ["a 0", "b 1"])
        try write(#"{"name":"one","run":"run","publishes":["b"]}"#)
        #expect(try reload().output == "changed  one\n")
        #expect(try tried(up) == ["a 1", "b 0"])
        #expect(shop.text("one", "arguments") == "\n")
        #expect(try reload().output == "nothing has changed\n")
    }

    @Test("reload: another program or other arguments wait for the next start, and up says so")
    func outdated() throws {
        let up = try shop.up()
        // The plugin runs, so `up` has read its manifest before the change.
        #expect(try tried(up) == ["a 0", "b 1"])
        try write(#"{"name":"one","run":"run","publishes":["a"],"arguments":["-v"]}"#)
        let told = "changed  one; it runs as it was started, until: "
        #expect(try reload().output.hasPrefix(told))
        #expect(try tried(up) == ["a 0", "b 1"])
        let json = try plugboard("plugins", "reload", "--json", in: shop.folder).output
        #expect(json == #"{"added":[],"removed":[],"changed":[],"outdated":[],"problems":[]}"# + "\n")
        #expect(try plugboard("plugin", "restart", "one", in: shop.folder).end == .exited(0))
        try eventually("it is called so") { shop.text("one", "arguments") == "\n-v\n" }
    }

    @Test("reload: plugins in new folders start, those of removed folders end and are gone")
    func folders() throws {
        try shop.add("old", "echo $$ > pids; exec sleep 1000")
        let up = try shop.up()
        let pid = try shop.pids("old", count: 1)[0]
        try shop.add("new", "echo here; exec sleep 1000")
        SystemCalls.remove("\(shop.folder.path)/plugins/old/plugin.json")
        #expect(try reload().lines == ["added    new", "removed  old"])
        try shop.expectGone([pid])
        try eventually("the list is right") { try states() == ["one running", "new running"] }
        try eventually("the new one speaks") { up.output.contains("new    | here\n") }
        let stopped = try plugboard("plugin", "start", "old", in: shop.folder)
        #expect(stopped.messages.contains("up has no plugin \"old\""))
        #expect(try plugboard("get", "$broker.plugins.old", in: shop.folder).end == .exited(1))
        try shop.add("old", "exec sleep 1000")
        #expect(try reload().lines == ["added    old"])
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
    }

    @Test("reload: a plugin whose folder was removed is gone when what it started has ended, too")
    func lastChild() throws {
        let child = #"trap "sleep 0.3; echo x > ended; exit 0" TERM; echo ready; while :; do sleep 0.1; done"#
        try shop.add("old", "sh -c '\(child)' & wait")
        let up = try shop.up()
        try eventually("it is ready") { up.output.contains("old    | ready\n") }
        SystemCalls.remove("\(shop.folder.path)/plugins/old/plugin.json")
        #expect(try reload().lines == ["removed  old"])
        try eventually("it is gone") { try states() == ["one running"] }
        #expect(shop.text("old", "ended") == "x\n")
    }

    @Test("reload: a folder that comes back while its plugin stops is started again")
    func back() throws {
        try shop.add("rock", "trap '' TERM; echo $$ >> pids; while :; do sleep 0.05; done")
        let up = try shop.up()
        _ = try shop.pids("rock", count: 1)
        let json = shop.text("rock", "plugin.json")
        SystemCalls.remove("\(shop.folder.path)/plugins/rock/plugin.json")
        #expect(try reload().lines == ["removed  rock"])
        try write(json, of: "rock")
        #expect(try reload().output.hasPrefix("changed  rock"))
        _ = try shop.pids("rock", count: 2)
        try eventually("both run") { try states() == ["one running", "rock running"] }
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
    }

    @Test("reload concerns only the plugins that up was asked for; also when one is started")
    func selection() throws {
        try shop.add("two", "exec sleep 1000", json: #","start":"demand","publishes":["x"]"#)
        let up = try shop.up("one", "two")
        #expect(try states() == ["one running", "two idle"])
        try shop.add("three", "exec sleep 1000")
        try write(#"{"name":"two","run":"run","publishes":["x"]}"#, of: "two")
        #expect(try reload().output == "changed  two\n")
        #expect(try states() == ["one running", "two running"])
        _ = up
    }

    @Test("a wrong word is refused")
    func usage() throws {
        let wrong = try plugboard("plugins", "relaod", in: shop.folder)
        #expect(wrong.end == .exited(64) && wrong.messages.contains("did you mean \"reload\"?"))
    }
}
