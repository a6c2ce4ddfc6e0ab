import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("install copies", .oneAtATime)
struct CopyTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: String..., by program: String = Products.plugboard) throws -> Finished {
        try Run(
            program: program,
            arguments,
            in: folder,
            environment: ["HOME": folder.path, "PATH": "/usr/bin:/bin"]
        )
        .finished()
    }

    /// A plugin that is a script, with a file in a folder of its own.
    private func add(_ name: String, to plugins: String = "shop") throws {
        try folder.script("\(plugins)/\(name)/run.sh", "cat data/text; exec sleep 100")
        try folder.write("\(plugins)/\(name)/data/text", "\(name) is here\n")
        try folder.write("\(plugins)/\(name)/source.swift", "")
        try folder.write("\(plugins)/\(name)/plugin.json", #"{"name":"\#(name)","run":"run.sh"}"#)
    }

    @Test("the command and the plugins, and the copy finds its plugins from any folder")
    func copies() throws {
        try add("one")
        let installed = try run("install", "--plugins", "shop")
        #expect(installed.end == .exited(0), "\(installed.messages)")
        let command = folder.path + "/.local/bin/plugboard"
        #expect(installed.output == "installed: \(command), with one\n")
        #expect(installed.messages.contains("\(folder.path)/.local/bin is not in PATH"))
        #expect(FileStatus.isRunnable(path: folder.path + "/.local/lib/plugboard/plugins/one/run.sh"))
        #expect(!folder.exists(".local/lib/plugboard/plugins/one/source.swift"))
        #expect(!FileStatus.isRunnable(path: folder.path + "/.local/lib/plugboard/plugins/one/data/text"))
        let up = try Run(program: command, ["up", "--memory"], in: folder)
        try eventually("its plugin runs") { up.output.contains("| one is here") }
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
    }

    @Test("a program beside plugboard goes into its plugin's folder, not into PATH")
    func beside() throws {
        try folder.write("shop/logger/plugin.json", #"{"name":"logger","run":"logger","subscribes":["**"]}"#)
        #expect(try run("install", "--prefix", "away", "--plugins", "shop").end == .exited(0))
        #expect(try Folder.names(in: folder.path + "/away/bin") == ["plugboard"])
        #expect(FileStatus.isRunnable(path: folder.path + "/away/lib/plugboard/plugins/logger/logger"))
        let problems = try PluginFolder(
            path: folder.path + "/away/lib/plugboard/plugins",
            executable: folder.path + "/away/lib/plugboard/plugboard"
        )
        .problems
        #expect(problems == [])
        // As in a checkout, where plugins are sources. The installed program is used and copied, too.
        let command = folder.path + "/away/bin/plugboard"
        try folder.write(
            "plugins/logger/plugin.json",
            #"{"name":"logger","run":"logger","subscribes":["**"]}"#
        )
        let up = try Run(program: command, ["up", "--memory"], in: folder)
        try eventually("it runs") { try plugboard("plugins", in: folder).output.contains("logger  running") }
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
        let again = try run("install", "--prefix", "further", by: command)
        #expect(again.end == .exited(0), "\(again.messages)")
        #expect(FileStatus.isRunnable(path: folder.path + "/further/lib/plugboard/plugins/logger/logger"))
    }

    @Test("without plugins it says so, and it writes no service for broken ones")
    func none() throws {
        let none = try run("install")
        #expect(none.end == .exited(0) && none.messages.contains("none were copied"))
        try folder.write("broken/it/plugin.json", #"{"name":"it","run":"missing"}"#)
        let command = folder.path + "/.local/bin/plugboard"
        let refused = try run("install", "--user", "--plugins", "broken", "--print", by: command)
        #expect(refused.end == .exited(1))
        #expect(refused.messages.contains("there is no program \"missing\""))
    }

    @Test(
        "a second time, named plugins are replaced, others stay; --remove removes everything of its own, and nothing else"
    )
    func again() throws {
        try add("one")
        try add("two", to: "other")
        #expect(try run("install", "--plugins", "shop").end == .exited(0))
        SystemCalls.remove(folder.path + "/shop/one/data/text")
        try folder.write("shop/one/data/more", "more")
        #expect(try run("install", "--plugins", "other").end == .exited(0))
        #expect(try run("install", "--plugins", "shop").end == .exited(0))
        let plugins = ".local/lib/plugboard/plugins"
        #expect(folder.exists("\(plugins)/two/data/text") && folder.exists("\(plugins)/one/data/more"))
        #expect(!folder.exists("\(plugins)/one/data/text"))
        // From the copy itself, there is nothing to copy.
        let copy = folder.path + "/.local/bin/plugboard"
        #expect(try run("install", by: copy).end == .exited(0))
        try folder.write("\(plugins)/one/mine", "")
        try folder.write(".local/bin/other", "")
        let removed = try run("install", "--remove")
        #expect(removed.end == .exited(0) && removed.output.hasPrefix("removed: "))
        #expect(try Folder.names(in: folder.path + "/.local/bin") == ["other"])
        #expect(try Folder.names(in: "\(folder.path)/\(plugins)") == ["one"])
        #expect(try Folder.names(in: "\(folder.path)/\(plugins)/one") == ["mine"])
        #expect(try run("install", "--remove").end == .exited(1))
    }

    @Test("--print names every file and writes nothing")
    func printed() throws {
        try add("one")
        let printed = try run("install", "--print", "--plugins", "shop", "--prefix", "/opt/x")
        let plugin = "/opt/x/lib/plugboard/plugins/one"
        #expect(
            printed.lines == [
                "/opt/x/lib/plugboard/plugboard", "/opt/x/lib/plugboard/plugboard-bench",
                "/opt/x/lib/plugboard/plugboard.py", "\(plugin)/plugin.json", "\(plugin)/run.sh",
                "\(plugin)/data/text", "/opt/x/bin/plugboard", "/opt/x/lib/plugboard/installed.txt",
            ]
        )
        #expect(!folder.exists(".local"))
    }

    @Test("a broken plugin, another program's command, and a list that leads elsewhere: nothing is lost")
    func refused() throws {
        try add("one")
        try folder.write("shop/bad/plugin.json", "{")
        let broken = try run("install", "--plugins", "shop")
        #expect(broken.end == .exited(1) && broken.messages.contains("bad/plugin.json:1:"))
        #expect(!folder.exists(".local"))
        SystemCalls.remove(folder.path + "/shop/bad/plugin.json")
        try folder.write(".local/bin/plugboard", "precious")
        let other = try run("install", "--plugins", "shop")
        #expect(other.end == .exited(1) && folder.text(".local/bin/plugboard") == "precious")
        try folder.write("victim", "precious")
        try folder.write(
            ".local/lib/plugboard/installed.txt",
            "../victim\nlib/plugboard/../../../victim\n/etc/passwd\nbin/plugboard\n"
        )
        _ = try run("install", "--remove")
        #expect(folder.text("victim") == "precious" && folder.text(".local/bin/plugboard") == "precious")
    }

    @Test("without a home and a prefix it says so")
    func homeless() throws {
        let finished = try Run(["install"], in: folder, environment: ["HOME": ""]).finished()
        #expect(finished.end == .exited(1) && finished.messages.contains("HOME isn't set"))
    }
}
