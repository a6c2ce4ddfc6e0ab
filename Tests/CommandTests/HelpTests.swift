import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("Help", .someAtATime)
struct HelpTests {
    @Test("the overview has every command with its summary")
    func overview() {
        let text = HelpText.overview()
        for command in CommandTable.visible {
            #expect(text.contains("  \(command.name)"))
            #expect(text.contains(command.summary))
        }
        #expect(!text.contains("launch"))
    }

    @Test("a newcomer sees four groups: use it, watch it, operate it, make plugins")
    func groups() {
        let text = HelpText.overview()
        let groups = Command.Group.allCases.map(\.rawValue).filter { !$0.isEmpty }
        #expect(groups == ["Use it", "Watch it", "Operate it", "Make plugins"])
        for group in groups { #expect(text.contains("\n\n\(group)\n  ")) }
    }

    @Test("bench is hidden where its program is missing, as in the packages, and still says so")
    func bench() throws {
        let folder = try TemporaryFolder()
        let program = try Products.copyPlugboard(to: folder, "plugboard")
        let overview = try Run(program: program, ["help"], in: folder).finished().output
        #expect(overview.contains("\n  limits ") && !overview.contains("\n  bench "))
        #expect(try !Run(program: program, ["man"], in: folder).finished().output.contains("bench (1)"))
        let words = try Run(program: program, ["complete", "zsh", ""], in: folder).finished().output
        #expect(words.contains("limits\t") && !words.contains("bench"))
        #expect(try Run(program: program, ["bench"], in: folder).finished().end == .exited(69))
        try folder.write("plugboard-bench", "#!/bin/sh\n")
        SystemCalls.setMode("\(folder.path)/plugboard-bench", 0o700)
        #expect(try Run(program: program, ["help"], in: folder).finished().output.contains("\n  bench "))
    }

    @Test("the overview lists every exit status of the program")
    func statuses() {
        let lines = HelpText.overview().split(separator: "\n")
        for status in ExitStatus.allCases {
            let words = "\(status.rawValue)"
            #expect(lines.contains { $0.hasPrefix("  \(words) ") && $0.hasSuffix("  " + status.meaning) })
        }
        #expect(lines.contains { $0.hasPrefix("  \(128 + SIGINT)  Ctrl-C ") })
        #expect(Set(ExitStatus.allCases.map(\.rawValue)) == [0, 1, 64, 69, 74])
    }

    @Test("an invalid key or pattern is a usage error in every command, and no broker is asked")
    func badKeys() throws {
        let folder = try TemporaryFolder()
        let patterns: [[String]] = [
            ["subscribe", "scr*"], ["subscribe", "a", ".b"], ["record", "scr*"], ["trace", "scr*"],
            ["top", "scr*"],
            ["keys", "scr*"], ["get", "scr*"], ["journal", "show", "scr*", "--state", folder.path],
        ]
        let keys: [[String]] = [
            ["publish", "a.*", "1"], ["emit", "a.*", "1"], ["patch", "a.*", "{}"], ["delete", ".a"],
            ["delete", "scr*"], ["wait", "scr*"], ["dump", "scr*"], ["serve", "scr*", "--", "x"],
            ["get", ".a"], ["who", "a.*"], ["why", "a.*"], ["call", "a.*"],
            ["explain", "publish", "a.*", "1"],
        ]
        for words in patterns + keys {
            let finished = try Run(words, in: folder).finished()
            #expect(finished.end == .exited(64), "\(words): \(finished.messages)")
        }
    }

    @Test("a command's help names each of its options and arguments")
    func complete() {
        for command in CommandTable.all {
            let text = command.syntax.help
            for option in command.options + [.help] { #expect(text.contains("  \(option.listed)  ")) }
            for parameter in command.parameters { #expect(text.contains("  \(parameter.name)  ")) }
        }
    }

    @Test("help fits a terminal of 80 columns")
    func width() {
        let texts = [HelpText.overview()] + CommandTable.all.map { $0.syntax.help }
        for line in texts.joined(separator: "\n").split(separator: "\n") {
            #expect(line.count <= 80, "\(line)")
        }
    }

    @Test("every example in the help is a command line that is accepted")
    func examples() throws {
        for command in CommandTable.all {
            for example in command.examples {
                let words = shellWords(example)
                let named = try #require(CommandTable.command(named: words[0]), "\(example)")
                _ = try named.parse(Array(words.dropFirst()))
            }
        }
    }

    @Test("help COMMAND and COMMAND --help print the same on standard output, with status 0")
    func bothWays() throws {
        let folder = try TemporaryFolder()
        for command in CommandTable.visible {
            let asked = try plugboard("help", command.name, in: folder)
            let option = try plugboard(command.name, "--help", in: folder)
            #expect(asked.end == .exited(0) && option.end == .exited(0))
            if command.takesWordsAsTheyAre {
                #expect(asked.output.hasPrefix("\(command.name): \(command.summary)\n"))
            } else {
                #expect(asked.output == command.syntax.help)
            }
            #expect(option.output == asked.output)
            #expect(asked.messages.isEmpty && option.messages.isEmpty)
        }
    }

    @Test("--help alone prints the overview; no arguments at all is a usage error that shows it")
    func alone() throws {
        let folder = try TemporaryFolder()
        #expect(try plugboard("--help", in: folder).output == HelpText.overview())
        #expect(try plugboard("help", in: folder).output == HelpText.overview())
        let nothing = try plugboard(in: folder)
        #expect(nothing.end == .exited(64))
        #expect(nothing.output.isEmpty)
        #expect(nothing.messages.contains(HelpText.overview().prefix(60)))
    }

    @Test("--version prints the version and the protocol's number")
    func version() throws {
        let finished = try plugboard("--version", in: TemporaryFolder())
        #expect(finished.end == .exited(0))
        #expect(
            finished.output == "plugboard \(ProtocolVersion.software) (protocol \(ProtocolVersion.number))\n"
        )
        #expect(
            Program.versionText(commit: "1a2b").hasSuffix(
                " (protocol \(ProtocolVersion.number), commit 1a2b)"
            )
        )
    }

    @Test(
        "a word that is nearly a command is recognized, even with two letters swapped",
        arguments: [("pubish", "publish"), ("subscirbe", "subscribe"), ("pu", "up"), ("Broker", "broker")]
    )
    func unknownCommand(word: String, meant: String) throws {
        for words in [[word], ["help", word]] {
            let finished = try Run(words, in: TemporaryFolder()).finished()
            #expect(finished.end == .exited(64))
            #expect(finished.messages.contains("there is no command \"\(word)\""))
            #expect(finished.messages.contains("did you mean \"\(meant)\"?"))
            #expect(finished.output.isEmpty)
        }
    }

    @Test("whoever looks for the version or for an unknown command is told where to look")
    func lost() throws {
        let folder = try TemporaryFolder()
        #expect(try plugboard("version", in: folder).messages.contains("did you mean \"--version\"?"))
        for words in [["frobnicate"], ["help", "frobnicate"]] {
            let finished = try Run(words, in: folder).finished()
            #expect(finished.end == .exited(64))
            #expect(finished.messages.contains("plugboard help lists the commands"))
        }
    }

    @Test("an option before the command: it says that options come after it")
    func optionFirst() throws {
        let finished = try plugboard("--json", "keys", in: TemporaryFolder())
        #expect(finished.end == .exited(64))
        #expect(finished.messages.contains("options come after the command"))
    }

    @Test("limits prints the limits of the code")
    func limits() throws {
        let folder = try TemporaryFolder()
        let plain = try plugboard("limits", in: folder)
        let pairs = plain.lines.map { $0.split(separator: " ").map(String.init) }
        #expect(pairs == Limits.announced.map { [$0.name, "\($0.value)"] })
        let object = try JSONObject(
            parsing: Array(plugboard("limits", "--json", in: folder).output.utf8)[...]
        )
        #expect(object.members.map(\.name) == Limits.announced.map(\.name))
        #expect(object["line"]?.integer == UInt64(Limits.lineBytesMax))
    }

    /// The words of an example. Single quotes group words, and a pipe or redirection ends it.
    private func shellWords(_ line: String) -> [String] {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        for character in line {
            switch character {
            case "'":
                isQuoted.toggle()
                word = word ?? ""
            case "|" where !isQuoted, ">" where !isQuoted: return words
            case " " where !isQuoted:
                if let finished = word { words.append(finished) }
                word = nil
            default: word = (word ?? "") + String(character)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }
}
