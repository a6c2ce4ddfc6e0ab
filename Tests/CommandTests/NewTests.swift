import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("new", .someAtATime)
final class NewTests: FolderSuite {
    private static let hasPython = (SocketPath.variable("PATH") ?? "").split(separator: ":").contains {
        FileStatus.isRunnable(path: "\($0)/python3")
    }

    /// Starts `up` on the folder and expects the new plugin to greet.
    private func expectGreeting(_ name: String, seconds: Double = 120) throws {
        let up = try Run(["up", "--plugins", "."], in: folder)
        try eventually("up is up") { up.messages.contains("Plugboard is up. Plugins: \(name).") }
        try eventually("it greets", seconds: seconds) {
            _ = try run("publish", "people.ada", "1")
            return try run("get", "greetings.ada").output == "\"hello\"\n"
        }
        try eventually("it says so") { up.output.contains("| hello, ada\n") }
        // The greeting names its cause.
        #expect(try run("why", "greetings.ada").output.contains("← people.ada"))
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
    }

    @Test("a shell script that runs at once", arguments: [[], ["--sh"]])
    func shell(options: [String]) throws {
        let made = try Run(["new", "greeter"] + options, in: folder).finished()
        #expect(made.end == .exited(0) && made.output == "made: greeter/ with plugin.json, greeter\n")
        #expect(made.messages.contains("up --plugins .\n"))
        #expect(try Folder.names(in: folder("greeter")).sorted() == ["greeter", "plugin.json"])
        try expectGreeting("greeter")
    }

    @Test("a Python program that runs at once", .enabled(if: hasPython, "python3 isn't here"))
    func python() throws {
        #expect(try run("new", "py-greeter", "--python").end == .exited(0))
        try expectGreeting("py-greeter")
    }

    @Test("a Swift program: its sources compile without a warning, and greet")
    func swift() throws {
        #expect(try run("new", "swift-greeter", "--swift").end == .exited(0))
        let place = folder("swift-greeter")
        let sources = ["main", "Greeting"].map { "\(place)/Sources/swift-greeter/\($0).swift" }
        try Folder.make("\(place)/built")
        try SwiftProgram.compile(sources, to: "\(place)/built/swift-greeter")
        try folder.script("swift-greeter/run", "exec built/swift-greeter")
        try expectGreeting("swift-greeter")
    }

    @Test("a Swift package that builds itself, and whose test passes", .enabled(if: LongSuite.isOn))
    func package() throws {
        #expect(try run("new", "packed-greeter", "--swift").end == .exited(0))
        let place = folder("packed-greeter")
        let tested = try Run(program: "/usr/bin/env", ["swift", "test", "--package-path", place], in: folder)
        let finished = try tested.finished(seconds: 3 * HangGuard.seconds)
        #expect(finished.end == .exited(0), "\(finished.output.suffix(2_000))")
        try expectGreeting("packed-greeter", seconds: 3 * HangGuard.seconds)
    }

    @Test(
        "Package.swift names the library's folder or its address, and the module of the test is spelled right"
    )
    func places() {
        func manifest(_ package: String) -> String {
            let files = PluginTemplate(name: "my-plugin", language: .swift, package: package).files
            return files.first { $0.path == "Package.swift" }?.text ?? ""
        }
        #expect(manifest("/a b").contains(#"[.package(name: "plugboard", path: "/a b")],"#))
        let address = "https://example.org/plugboard.git"
        #expect(manifest(address).contains(#"[.package(url: "\#(address)", branch: "main")],"#))
        for address in ["https://example.org/fork.git", "ssh://host/a/fork", "git@host:fork.git"] {
            #expect(manifest(address).contains(#".product(name: "PlugboardClient", package: "fork")"#))
        }
        let files = PluginTemplate(name: "my-plugin", language: .swift, package: "/p").files
        #expect(files.contains { $0.text.contains("@testable import my_plugin\n") })
    }

    @Test("an installed program says what to put in place of the package's folder, and --package names it")
    func installed() throws {
        let program = folder("installed")
        try FileCopy.make(of: Products.plugboard, at: program)
        let made = try Run(program: program, ["new", "far-greeter", "--swift"], in: folder).finished()
        #expect(made.end == .exited(0))
        #expect(made.messages.contains("in far-greeter/Package.swift, put the folder of Plugboard's sources"))
        #expect(folder.text("far-greeter/Package.swift").contains(#"path: "/path/to/plugboard""#))
        let address = "https://example.org/plugboard.git"
        let words = ["new", "near-greeter", "--swift", "--package", address]
        let named = try Run(program: program, words, in: folder).finished()
        #expect(named.end == .exited(0) && !named.messages.contains("put the folder"))
        #expect(folder.text("near-greeter/Package.swift").contains("url: \"\(address)\""))
    }

    @Test("each manifest is one that up takes")
    func manifests() throws {
        for language in PluginLanguage.allCases {
            let files = PluginTemplate(name: "n", language: language, package: "/p").files
            let text = try #require(files.first { $0.path == "plugin.json" }?.text)
            let manifest = try PluginManifest(parsing: Array(text.utf8))
            #expect(manifest.name == "n" && files.contains { $0.path == manifest.run && $0.isRunnable })
        }
    }

    @Test("what is there stays, and mistakes are named before anything is made")
    func mistakes() throws {
        try folder.write("there/file", "x")
        let there = try run("new", "there")
        #expect(there.end == .exited(1) && there.messages.contains("there is there already"))
        #expect(try Folder.names(in: folder("there")) == ["file"])
        for words in [
            ["new"], ["new", "../a"], ["new", "1a"], ["new", ""], ["new", "up"],
            ["new", "a", "--sh", "--swift"],
            ["new", "a", "--package", "."], ["new", "a", "--swift", "--package", folder.path],
            ["new", String(repeating: "a", count: 65)], ["new", "a", "--ruby"],
        ] {
            let finished = try Run(words, in: folder).finished()
            #expect(finished.end == .exited(64) && finished.output.isEmpty, "\(words)")
        }
        #expect(!folder.exists("a"))
        #expect(try run("new", String(repeating: "a", count: 64)).end == .exited(0))
    }
}
