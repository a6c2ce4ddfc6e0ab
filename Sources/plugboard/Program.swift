// Runs a command line: the first word after `plugboard` picks a command from the table, and the command's
// declaration parses the rest. The result is the exit status.

import PlugboardPosix
import PlugboardWire

/// The whole program.
enum Program {
    static let name = "plugboard"
    static let version = versionText(commit: BuildCommit.commit)

    /// How a person calls this program: by its name if the shell finds it, and otherwise by the
    /// path that it was called with, as short as the current folder allows.
    static let spelling: String = {
        guard let word = Arguments.all().first, word.contains("/") else { return name }
        let here = Folder.current() + "/"
        let short = word.hasPrefix(here) ? String(word.dropFirst(here.count)) : word
        return ShellWord.quoted(short.contains("/") ? short : "./" + short)
    }()

    /// `plugboard 0.1.0 (protocol 1, commit 1a2b3c4d5e6f)`.
    static func versionText(commit: String?) -> String {
        let details = ["protocol \(ProtocolVersion.number)"] + (commit.map { ["commit \($0)"] } ?? [])
        return "\(name) \(ProtocolVersion.software) (\(details.joined(separator: ", ")))"
    }

    /// Runs one command line to its end.
    static func run(_ words: [String]) -> ExitStatus {
        StandardStream.occupy()
        Signals.ignoreFailedWrites()
        let console = CommandConsole()
        do {
            try dispatch(words, console)
            return .done
        } catch is ReaderGone {
            return .done
        } catch is Interrupted {
            // Behind the ^C.
            if console.messages.isTerminal { try? console.messages.bytes([0x0A]) }
            return .done
        } catch let error as CommandError {
            console.report(command(words)?.spelled(error) ?? error, in: commandName(words))
            return error.status
        } catch {
            console.report(CommandError(.refused, "\(error)"), in: commandName(words))
            return .refused
        }
    }

    /// A mistake in the variable would otherwise look as if it was obeyed.
    private static func checkTimeout() throws(CommandError) {
        guard let text = SocketPath.variable(TimeoutVariable.name), !text.isEmpty,
            let fault = CommandOption.timeout.fault(of: text)
        else { return }
        throw .usage("\(TimeoutVariable.name) \(fault); it was \"\(text)\"")
    }

    private static func dispatch(_ words: [String], _ console: CommandConsole) throws {
        guard let first = words.first else {
            throw CommandError(.usage, "which command?\n\n" + HelpText.overview())
        }
        switch first {
        case "--version": return try console.output.line(version)
        case "--help", "-h": return try console.output.text(HelpText.overview())
        default: break
        }
        guard let command = CommandTable.command(named: first) else { throw unknownCommand(first) }
        if command.takesWordsAsTheyAre { return try command.pass(Array(words.dropFirst()), console) }
        let invocation = try command.parse(Array(words.dropFirst()))
        if invocation.has(.help) { return try console.output.text(command.syntax.help) }
        try checkTimeout()
        try command.run(invocation, console)
    }

    private static func unknownCommand(_ word: String) -> CommandError {
        if word.hasPrefix("-") {
            return .usage(
                "options come after the command, and \"\(word)\" stands before it",
                hint: "try: plugboard help"
            )
        }
        return HelpText.unknownCommand(word)
    }

    /// The beginning of messages, such as `plugboard publish`; only `plugboard` if there is no such command.
    private static func commandName(_ words: [String]) -> String {
        command(words) == nil ? name : "\(name) \(words[0])"
    }

    private static func command(_ words: [String]) -> Command? {
        words.first.flatMap { CommandTable.command(named: $0) }
    }
}
