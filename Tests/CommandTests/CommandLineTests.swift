import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("Command lines", .someAtATime)
struct CommandLineTests {
    private func parse(_ words: String...) throws -> Invocation {
        let command = try #require(CommandTable.command(named: words[0]))
        return try command.parse(Array(words.dropFirst()))
    }

    private func error(_ words: String...) -> CommandError? {
        guard let command = CommandTable.command(named: words[0]) else { return nil }
        do {
            _ = try command.parse(Array(words.dropFirst()))
            return nil
        } catch {
            return error
        }
    }

    @Test("options may be anywhere among the arguments, with a space or an equals sign")
    func placement() throws {
        let spaced = try parse("publish", "--if", "4", "a", "1", "--json")
        #expect(spaced.arguments == ["a", "1"])
        #expect(spaced.integer(.ifRevision) == 4)
        #expect(spaced.has(.json))
        #expect(try parse("publish", "a", "--if=4", "1").integer(.ifRevision) == 4)
        #expect(try parse("publish", "a", "1", "--socket=/a=b").text(.socket) == "/a=b")
    }

    @Test("a negative number and a single dash are arguments")
    func dashes() throws {
        #expect(try parse("publish", "a", "-5").arguments == ["a", "-5"])
        #expect(try parse("batch", "-").arguments == ["-"])
    }

    @Test("letters stand for options, also together and before a value; a negative number stays an argument")
    func letters() throws {
        let bundle = try parse("get", "-r0w", "a")
        #expect(bundle.has(.raw) && bundle.has(.null) && bundle.has(.watching) && bundle.arguments == ["a"])
        for words in [["-n", "5"], ["-n5"], ["-rn5"], ["-rn", "5"]] {
            let invocation = try Command.subscribe.parse(["a"] + words)
            #expect(invocation.integer(.count) == 5, "\(words)")
        }
        #expect(try parse("get", "a", "-s/x/y").text(.socket) == "/x/y")
        #expect(try parse("publish", "a", "-0").arguments == ["a", "-0"])
        #expect(try parse("get", "a", "-r", "-0").has(.null))
        #expect(error("get", "a", "-rx")?.message == "get has no option \"-rx\"")
        #expect(error("get", "a", "-json")?.hints == ["did you mean \"--json\"?"])
        #expect(error("get", "a", "-jj")?.message == "--json stands twice")
        #expect(error("subscribe", "a", "-n")?.message == "--count needs a value: --count N")
    }

    @Test("a program behind -- without --exec is a mistake, and no silent pattern")
    func forgottenExec() throws {
        let forgotten = error("subscribe", "a", "--raw", "--", "cat", "-n")
        #expect(forgotten?.message == "\"cat\" after -- is one more PATTERN, because there is no --exec")
        #expect(forgotten?.hints == ["to run it: --exec -- cat; if it is a PATTERN: leave -- out"])
        #expect(try parse("subscribe", "a", "--", "-b").arguments == ["a", "-b"])
        #expect(try parse("subscribe", "--", "a", "b").arguments == ["a", "b"])
        #expect(try parse("subscribe", "a", "--exec", "--", "cat").command == ["cat"])
        #expect(try parse("subscribe", "a", "--help", "--", "cat").has(.help))
        #expect(try parse("get", "a", "--", "b").arguments == ["a", "b"])
    }

    @Test("a broker's hint names options in place of fields, but leaves a suggestion as it is")
    func hints() {
        func spelled(_ command: Command, _ hint: String) -> String? {
            command.spelled(CommandError(.refused, "\"spare\"", hints: ["hint: " + hint])).hints.first
        }
        #expect(
            spelled(.serve, #"or "spare":true waits, "spare":false not"#)
                == #"hint: or --spare waits, "spare":false not"#)
        #expect(
            spelled(.publish, #"add and "if" depend on it, "ttl":5, "name""#)
                == #"hint: add and --if depend on it, "ttl":5, --name"#)
        #expect(spelled(.call, #"or "spare":true waits in line"#) == #"hint: or "spare":true waits in line"#)
        #expect(spelled(.publish, #"did you mean "if"?"#) == #"hint: did you mean "if"?"#)
        #expect(spelled(.subscribe, #""raw" is none"#) == #"hint: "raw" is none"#)
    }

    @Test("an option that repeats joins its values with commas, and others still stand once")
    func repeated() throws {
        let list = CommandOption("share", "PATTERNS", "keys", repeats: true)
        let syntax = CommandSyntax(call: "x", summary: "", options: [list, .json])
        let words = ["--share", "a", "--json", "--share=b,c"]
        #expect(try Invocation(syntax, parsing: words).text(list) == "a,b,c")
        #expect(throws: CommandMistake.self) { try Invocation(syntax, parsing: words + ["--json"]) }
    }

    @Test("after two dashes everything is an argument")
    func endOfOptions() throws {
        #expect(try parse("emit", "--", "a", "--json").arguments == ["a", "--json"])
    }

    @Test(
        "a word that is nearly an option is recognized",
        arguments: [
            ("--sokcet", "--socket"), ("--jsn", "--json"), ("--timeuot", "--timeout"), ("--fi", "--if"),
        ]
    )
    func suggestion(word: String, meant: String) {
        let error = error("publish", "a", "1", word)
        #expect(error?.status == .usage)
        #expect(error?.message == "publish has no option \"\(word)\"")
        #expect(error?.hints == ["did you mean \"\(meant)\"?"])
    }

    @Test("an unknown option that resembles none refers to the help")
    func unknown() {
        #expect(error("keys", "--wavelength")?.hints == ["try: plugboard help keys"])
    }

    @Test("each mistake with an option is a usage error that says what is wrong")
    func mistakes() {
        #expect(error("keys", "--socket")?.message == "--socket needs a value: --socket PATH")
        #expect(error("keys", "--json=yes")?.message == "--json takes no value")
        #expect(error("keys", "--json", "--json")?.message == "--json stands twice")
        #expect(error("keys", "--timeout", "soon")?.message.contains("number of seconds") == true)
        #expect(error("keys", "--timeout", "-1")?.status == .usage)
        for text in ["inf", "+1", "1e1", "0x1p1"] {
            #expect(error("keys", "--timeout", text)?.status == .usage, "\(text)")
        }
        #expect(error("keys", "--socket", "")?.message == "--socket is empty; it was \"\"")
        #expect(error("publish", "a", "1", "--if", "9007199254740992")?.status == .usage)
        #expect(error("publish", "a", "1", "--if", "9007199254740991") == nil)
        #expect(error("broker", "--poller", "epol")?.hints == ["did you mean \"epoll\"?"])
    }

    @Test("missing and superfluous arguments are named, with the usage")
    func counting() {
        let missing = error("emit", "a")
        #expect(missing?.message == "VALUE is missing")
        #expect(missing?.hints == ["usage: plugboard emit KEY VALUE… [OPTIONS]"])
        #expect(error("get")?.message == "KEY is missing")
        #expect(error("who", "a", "b")?.message == "\"b\" is one argument too many")
        #expect(error("limits", "a")?.message == "\"a\" is one argument too many")
    }

    @Test("help needs none of the command's arguments")
    func helpFirst() throws {
        #expect(try parse("emit", "--help").has(.help))
        #expect(try parse("emit", "-h").has(.help))
    }

    @Test("a PLUGBOARD_TIMEOUT that is no number is a usage error, and an empty one counts as unset")
    func timeoutVariable() throws {
        let folder = try TemporaryFolder()
        let wrong = try plugboard("get", "a", in: folder, environment: [TimeoutVariable.name: "soon"])
        #expect(wrong.end == .exited(64))
        #expect(wrong.messages.contains("PLUGBOARD_TIMEOUT is a number of seconds"))
        let unset = try plugboard("get", "a", in: folder, environment: [TimeoutVariable.name: ""])
        #expect(unset.end == .exited(69))
    }

    @Test("PLUGBOARD_TIMEOUT is how long a command waits for a broker that doesn't answer")
    func silentBroker() throws {
        let folder = try TemporaryFolder()
        let listener = try UnixSocket.listen(path: folder.socket)
        let late = try plugboard("get", "a", in: folder, environment: [TimeoutVariable.name: "0.2"])
        #expect(late.end == .exited(69))
        #expect(late.messages.contains("0.2 seconds"))
        _ = consume listener
    }
}

@Suite("The table of commands", .someAtATime)
struct CommandTableTests {
    @Test("no two commands have the same name, and no two options of a command")
    func names() {
        #expect(Set(CommandTable.all.map(\.name)).count == CommandTable.all.count)
        for command in CommandTable.all {
            let names = (command.options + [.help]).map(\.name)
            #expect(Set(names).count == names.count, "\(command.name)")
        }
    }

    @Test("a letter stands for one option in all commands, and an option has one letter or none")
    func letters() {
        var names: [Character: String] = [:]
        var letters: [String: Character?] = [:]
        for option in CommandTable.all.flatMap({ $0.options + [.help] }) {
            #expect(letters.updateValue(option.short, forKey: option.name) ?? option.short == option.short)
            guard let short = option.short else { continue }
            #expect(names.updateValue(option.name, forKey: short) ?? option.name == option.name)
        }
        #expect(names.count == 13)
    }

    @Test("plugin is still the same command as plugins, and no text speaks of it")
    func formerName() {
        #expect(CommandTable.command(named: "plugin")?.name == "plugins")
        #expect(!CommandTable.all.contains { $0.name == "plugin" })
        for text in [HelpText.overview()] + CommandTable.all.map(\.syntax.help) {
            #expect(!text.contains("plugboard plugin "))
        }
    }

    @Test("CONTRIBUTING says of each command why it stays, and of no other")
    func reasons() throws {
        let root = SocketPath.folder(of: SocketPath.folder(of: SocketPath.folder(of: #filePath)))
        let bytes = try InputFile.contents(path: root + "/.github/CONTRIBUTING.md", limit: 1 << 20)
        let page = String(decoding: bytes, as: UTF8.self)
        let section = try #require(page.split(separator: "## Why each command stays").last)
        let rest = try #require(section.split(separator: "\n## ").first)
        let rows = rest.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let named =
            rows.flatMap { $0.split(separator: "|")[0].matches(of: /`(\w+)`/).map { String($0.1) } }
            + rest.prefix { $0 != "|" }.matches(of: /`(\w+)`/).map { String($0.1) }
        let commands = CommandTable.all.filter { $0.group != .hidden }.map(\.name)
        #expect(named.sorted() == commands.sorted())
    }

    @Test("every command that was asked for exists")
    func complete() {
        let wanted = [
            "up", "broker", "publish", "emit", "patch", "get", "delete", "keys", "subscribe", "batch",
            "record", "replay", "bench", "limits", "help", "completions", "man", "status", "clients",
            "services", "metrics", "ping", "new",
        ]
        #expect(Set(wanted).isSubset(of: Set(CommandTable.visible.map(\.name))))
    }

    @Test("only the last argument of a command may be repeated or optional")
    func parameters() {
        for command in CommandTable.all {
            #expect(!command.parameters.dropLast().contains { $0.repeats }, "\(command.name)")
            let firstOptional = command.parameters.firstIndex { !$0.isRequired } ?? command.parameters.count
            #expect(!command.parameters[firstOptional...].contains { $0.isRequired }, "\(command.name)")
        }
    }
}
