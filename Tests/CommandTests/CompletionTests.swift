import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("Completions", .someAtATime)
struct CompletionTests {
    private func words(_ words: String..., current: String = "") -> [String]? {
        guard case .words(let found) = Completion(after: words, current: current) else { return nil }
        return Completion.matching(found, current).map(\.word)
    }

    @Test("the first word is any command of the overview, or a general option")
    func commands() {
        #expect(words(current: "un") == [])
        #expect(words(current: "plug") == ["plugins"])
        #expect(words(current: "--") == ["--help", "--version"])
        let all = words() ?? []
        for command in CommandTable.visible { #expect(all.contains(command.name)) }
        for command in CommandTable.all where command.group == .hidden {
            #expect(!all.contains(command.name))
        }
    }

    @Test("options are those of the command that aren't there yet, with --help")
    func options() {
        for command in CommandTable.visible where !command.takesWordsAsTheyAre {
            let expected = (command.options + [.help]).map { "--" + $0.name }
            #expect(words(command.name, current: "--") == expected)
        }
        #expect(words("get", "--json", "--socket=x", current: "--")?.contains("--json") == false)
        #expect(words("get", "--json", "--socket=x", current: "--")?.contains("--socket") == false)
        #expect(words("get", "-j", "-s", "x", current: "--")?.contains("--json") == false)
        #expect(words("get", "-j", "-s", "x", current: "--")?.contains("--socket") == false)
        #expect(Completion(after: ["get", "-s"], current: "") == .files)
        #expect(Completion(after: ["explain", "-s", "x", "publish"], current: "") == .keys)
        #expect(Completion(after: ["get", "--"], current: "--j") == .keys)
        #expect(words("frobnicate", current: "--") == [])
    }

    @Test("values of options: the words of a choice, files, or nothing that is known")
    func values() {
        #expect(words("broker", "--sync") == ["always", "interval", "never"])
        #expect(words("broker", current: "--sync=n") == ["--sync=never"])
        #expect(Completion(after: ["broker", "--policy"], current: "") == .files)
        #expect(Completion(after: ["broker"], current: "--state=") == .files)
        #expect(words("broker", current: "--frobnicate=") == [])
        #expect(words("get", "--timeout") == [])
        for command in CommandTable.visible where !command.takesWordsAsTheyAre {
            for option in command.options {
                guard case .choice(let choice) = option.kind else { continue }
                #expect(words(command.name, "--" + option.name) == choice)
            }
        }
    }

    @Test("up takes the names of the plugins in its folder, and a program follows -- of those that run one")
    func programs() throws {
        #expect(Completion(after: ["up"], current: "") == .startable)
        #expect(Completion(after: ["serve", "a", "--"], current: "") == .files)
        #expect(Completion(after: ["serve", "a", "--jobs", "2", "--", "cat"], current: "-") == .files)
        #expect(Completion(after: ["subscribe", "a", "--exec", "--"], current: "") == .files)
        #expect(words("serve", "a", current: "--jo") == ["--jobs"])
        let folder = try TemporaryFolder()
        for name in ["cart", "logger", "review-tracker"] {
            _ = try folder.write("p/\(name)/plugin.json", "{\"name\":\"\(name)\",\"run\":\"/bin/true\"}")
        }
        func complete(_ words: String...) throws -> [String] {
            try Run(["complete", "fish", "up", "--plugins", "\(folder.path)/p"] + words, in: folder)
                .finished().lines
        }
        #expect(try complete("") == ["words", "cart", "logger", "review-tracker"])
        #expect(try complete("cart", "re") == ["words", "review-tracker"])
        #expect(try complete("cart", "ca") == ["words"])
    }

    @Test("arguments: keys, files, commands, the words themselves, and nothing after the last one")
    func arguments() {
        let takingServices = ["call", "services"]
        for command in CommandTable.visible
        where ["KEY", "PATTERN"].contains(command.parameters.first?.name)
            && !takingServices.contains(command.name)
        {
            #expect(Completion(after: [command.name], current: "") == .keys, "\(command.name)")
        }
        #expect(Completion(after: ["get", "--timeout", "3", "--json"], current: "") == .keys)
        #expect(Completion(after: ["subscribe", "a", "b"], current: "") == .keys)
        #expect(Completion(after: ["explain", "publish"], current: "") == .keys)
        #expect(words("explain") == ["publish", "emit", "patch", "add", "delete"])
        #expect(words("journal") == ["check", "new-epoch", "repair", "show"])
        #expect(Completion(after: ["replay"], current: "") == .files)
        #expect(Completion(after: ["bench"], current: "") == .files)
        #expect(words("help", current: "compl") == ["completions"])
        #expect(words("man", current: "compl") == ["completions"])
        #expect(words("completions") == ["bash", "zsh", "fish"])
        #expect(words("plugins", current: "st") == ["start", "stop"])
        #expect(words("plugin", current: "st") == ["start", "stop"])
        #expect(Completion(after: ["plugins", "log"], current: "") == .plugins)
        for command in takingServices {
            #expect(Completion(after: [command], current: "") == .services, "\(command)")
        }
        #expect(words("call", "a") == [])
        for command in ["pause", "step", "resume", "disconnect"] {
            #expect(Completion(after: [command], current: "") == .clients, "\(command)")
        }
        for command in ["pause", "step", "resume"] {
            let found = Completion(after: [command, "--timeout", "1", "6"], current: "")
            #expect(found == .subscriptions(client: "6"), "\(command)")
        }
        #expect(words("publish", "k") == [])
        #expect(words("limits") == [])
    }

    @Test("a line of bash is split as bash does it, and what replaces a word is quoted as it was begun")
    func bashLines() {
        #expect(ShellLine("plugboard get ca").words == ["plugboard", "get"])
        #expect(ShellLine("plugboard get ca").current == "ca")
        #expect(ShellLine("A=1 plugboard get ").words == ["plugboard", "get"])
        #expect(ShellLine("plugboard get ").current == "")
        #expect(ShellLine(#"plugboard 'a b' "c \"d" e\ f g"#).words == ["plugboard", "a b", #"c "d"#, "e f"])
        #expect(ShellLine("plugboard get 'a.b").current == "a.b")
        #expect(ShellLine("plugboard keys > fi").isRedirection)
        #expect(!ShellLine("plugboard keys > file ").isRedirection)
        let special = "a&b$c d'e"
        #expect(ShellLine("plugboard get ").replacement(special, breaks: "=:") == #"a\&b\$c\ d\'e"#)
        #expect(ShellLine("plugboard get 'a").replacement(special, breaks: "=:") == #"a&b$c d'\''e"#)
        #expect(ShellLine(#"plugboard get "a"#).replacement(special, breaks: "=:") == #"a&b\$c d'e"#)
        #expect(ShellLine("plugboard get a:b").replacement("a:bc", breaks: "=:") == "bc")
        #expect(ShellLine("plugboard broker --sync=n").replacement("--sync=never", breaks: "=:") == "never")
        #expect(ShellLine("plugboard get a:b").replacement("a:bc", breaks: "=") == "a:bc")
    }

    @Test("the completions of an unknown shell are a usage error with the near one")
    func unknownShell() throws {
        let finished = try plugboard("completions", "fihs", in: TemporaryFolder())
        #expect(finished.end == .exited(64))
        #expect(finished.messages.contains("did you mean \"fish\"?"))
        #expect(try plugboard("completions", in: TemporaryFolder()).end == .exited(64))
        #expect(try plugboard("complete", "tcsh", "", in: TemporaryFolder()).end == .exited(64))
    }

    @Test("a bus that hangs has no keys, and Tab waits a fifth of a second for it")
    func hangingBus() throws {
        let folder = try TemporaryFolder()
        let listener = try UnixSocket.listen(path: folder.socket)
        let start = MonotonicClock.nanoseconds()
        let finished = try plugboard("complete", "zsh", "get", "ca", in: folder)
        let seconds = Double(MonotonicClock.nanoseconds() - start) / 1e9
        // Either the wait for the greeting ends first, or the one for everything.
        #expect(["", "words\n"].contains(finished.output))
        #expect(finished.end == .exited(0) && finished.messages.isEmpty)
        #expect(BusNames.seconds == 0.2 && seconds >= 0.15)
        _ = consume listener
    }
}

@Suite("Completions, with a bus", .someAtATime)
final class KeyCompletionTests: BrokerSuite {
    /// Tab waits only for a fifth of a second, which may pass on a busy machine. So this looks again.
    private func expect(_ expected: String..., from words: String...) throws {
        try eventually("\(words) completes to \(expected)") { try complete(words) == ["words"] + expected }
    }

    private func complete(_ words: [String]) throws -> [String] {
        let finished = try Run(["complete", "zsh"] + words, in: folder).finished()
        #expect(finished.end == .exited(0) && finished.messages.isEmpty)
        return finished.lines
    }

    @Test("keys come from the bus that the line names, one page, and narrower with each letter")
    func keys() throws {
        let count = Limits.pageKeysDefault + 1
        let lines = (0..<count).map { #"{"key":"many.k\#(10_000 + $0)","value":1}"# + "\n" }
        let more = #"{"key":"cart","value":1}"# + "\n" + #"{"key":"cart.items","value":1}"# + "\n"
        _ = try run("publish", "--from", "-", input: lines.joined() + more)
        try eventually("a page comes") { try complete(["get", "many."]).count == 1 + Limits.pageKeysDefault }
        try expect("many.k11000", from: "get", "many.k1100")
        try expect("cart", "cart.items", from: "get", "cart")
        try expect("cart.items", from: "get", "cart.")
        try expect(from: "get", "cart.*")
        try expect("$broker.stats", from: "get", "$broker.st")
        try expect(from: "get", "--socket", "\(folder.path)/none", "cart")
        try expect("cart.items", from: "get", "--socket=\(folder.socket)", "cart.")
        try expect("cart.items", from: "get", "-s", folder.socket, "cart.")
        try expect(from: "get", "-s", "\(folder.path)/none", "cart")
    }

    @Test("call and services offer what is served, and pause and its like the clients, each with a name")
    func servicesAndClients() throws {
        let server = try LinePeer(path: folder.socket)
        let lines = ["hello shop", "serve cart.add", "serve cart.clear", "serve text.*", "sync"]
        try server.send(lines.map { $0 + "\n" }.joined())
        while try !server.text().contains(#""ok":"sync""#) {}
        try expect("cart.add\tshop", "cart.clear\tshop", from: "call", "ca")
        try expect("cart.add\tshop", "cart.clear\tshop", from: "services", "")
        for command in ["pause", "step", "resume", "disconnect"] {
            try eventually("\(command) completes") {
                let found = try complete([command, ""])
                return found.count == 2 && found[1].hasSuffix("\tshop")
            }
        }
        try server.send(#"{"op":"subscribe","keys":["none","a.*"],"sub":"all"}"# + "\nsubscribe $broker.**\n")
        _ = try run("publish", "a.b", "1")
        let client = try #require(try complete(["pause", ""]).last?.split(separator: "\t").first)
        try expect("all\ta.*", "1\t$broker.**", from: "pause", String(client), "")
    }
}

#if os(Linux)
    @Suite("Completions, in real shells", .someAtATime)
    final class ShellCompletionTests: BrokerSuite {
        private static let shells = ShellScript.allCases.filter(ShellSession.hasShell)

        @Test(
            "all three shells are here", .enabled(if: shells.count < 3, "bash, zsh and fish are all tested")
        )
        func missing() {
            print(
                "not tested, because they aren't installed: \(Set(ShellScript.allCases).subtracting(Self.shells))"
            )
        }

        @Test("Tab completes commands, options, choices, files and keys", arguments: shells)
        func tab(_ shell: ShellScript) throws {
            _ = try run("publish", "cart.summary", #""forty-one""#)
            _ = try run("publish", "odd.it's&more", #""oddly""#)
            _ = try run("publish", "odd:colon.x", #""with colon""#)
            try folder.write("words.ndjson", #"{"op":"publish","key":"from.file","value":1}"# + "\n")
            let session = try ShellSession(shell, in: folder, bus: folder.socket)
            try session.complete("plugboard get cart.su", to: "cart.summary")
            try session.expect(#""forty-one""#)
            session.type("plugboard ge\t")
            try session.complete("odd.it", to: #"odd.it\'s\&more"#)
            try session.expect(#""oddly""#)
            try session.complete("plugboard get 'odd.it", to: "s&more'")
            try session.expect(#""oddly""#, times: 2)
            try session.complete("plugboard get odd:c", to: "odd:colon.x")
            try session.expect(#""with colon""#)
            session.type("plugboard limits --js\t\n")
            try session.expect(#"{"line":1052672"#)
            session.type("plugboard completions fi\t\n")
            try session.expect("function __plugboard_complete")
            session.type("plugboard batch word\t\n")
            try session.expect("revision 4")
            session.type("plugboard get --socket=\(folder.path.dropLast())\t")
            try session.complete("/s cart.su", to: "/s cart.summary")
            try session.expect(#""forty-one""#, times: 2)
        }

        @Test("several that fit are shown, and nothing is said if there is no bus", arguments: shells)
        func silent(_ shell: ShellScript) throws {
            let session = try ShellSession(shell, in: folder, bus: "\(folder.path)/none")
            session.type("plugboard get cart\t\t")
            session.type("\u{15}plugboard comp\t\u{1}echo don''e \n")
            try session.expect("done plugboard completions")
            #expect(!session.shown.contains("no broker"))
        }
    }
#endif
