// `completions`: prints a script for a shell. `complete`: answers that script when Tab is pressed.

import PlugboardPosix
import PlugboardWire

extension Command {
    static let completions = Command(
        name: "completions",
        group: .use,
        summary: "print the completions for a shell",
        parameters: [CommandParameter("bash|zsh|fish", "the shell")],
        details: """
            With the printed script, Tab completes commands, options, their values, files, and the keys, \
            services, clients and subscriptions of the running bus. It waits for the bus at most a fifth of \
            a second. Without a bus there are no keys, and nothing is said about it. The script asks the plugboard that stands in the command \
            line, so it needs no update. Its place:

              bash  ~/.local/share/bash-completion/completions/plugboard
              zsh   _plugboard in a folder of $fpath
              fish  ~/.config/fish/completions/plugboard.fish

            For this shell only: source <(plugboard completions bash), and the same in zsh after compinit; \
            in fish: plugboard completions fish | source
            """,
        examples: ["completions bash", "completions fish"],
        run: { invocation, console in
            let word = invocation.arguments[0]
            guard let script = ShellScript(rawValue: word) else {
                let shells = ShellScript.allCases.map(\.rawValue)
                throw CommandError.usage(
                    "there are completions for \(shells.joined(separator: ", ")), not for \"\(word)\"",
                    hint: Suggestion.hint(for: word, among: shells)
                )
            }
            // The script is ours, so a terminal may have it as it is.
            try console.output.bytes(Array(script.text.utf8))
        }
    )

    static let complete = Command(
        name: "complete",
        group: .hidden,
        summary: "answer the script of a shell: what fits at the cursor",
        parameters: [
            CommandParameter("SHELL", "the shell"), CommandParameter("WORD", "the words", .several),
        ],
        details: """
            For bash: the line up to the cursor and COMP_WORDBREAKS. For the others: the words after \
            plugboard, the last one up to the cursor. The first line of the answer is "words" or "files".
            """,
        takesWordsAsTheyAre: true,
        run: { invocation, console in
            guard let shell = invocation.argument(0).flatMap(ShellScript.init) else {
                throw CommandError.usage("complete is for the scripts of plugboard completions")
            }
            let lines = answer(shell, Array(invocation.arguments.dropFirst()))
            try console.output.bytes(Array(lines.map { $0 + "\n" }.joined().utf8))
        }
    )

    private static func answer(_ shell: ShellScript, _ words: [String]) -> [String] {
        guard shell == .bash else {
            guard let found = found(Array(words.dropLast()), words.last ?? "") else { return ["files"] }
            return ["words"] + found.map { $0.help.isEmpty ? $0.word : "\($0.word)\t\($0.help)" }
        }
        let line = ShellLine(words.first ?? "")
        guard !line.isRedirection, let found = found(Array(line.words.dropFirst()), line.current) else {
            return ["files"]
        }
        let breaks = words.dropFirst().first ?? ""
        return ["words"] + found.map { line.replacement($0.word, breaks: breaks) }
    }

    /// What fits; nil if files do.
    private static func found(_ words: [String], _ current: String) -> [Candidate]? {
        let candidates: [Candidate]
        switch Completion(after: words, current: current) {
        case .files: return nil
        case .words(let words): candidates = words
        case .keys: candidates = named(words) { try $0.keys(beginning: current) }
        case .plugins: candidates = named(words) { try $0.plugins() }
        case .services: candidates = named(words) { try $0.services() }
        case .clients: candidates = named(words) { try $0.clients() }
        case .subscriptions(let client): candidates = named(words) { try $0.subscriptions(of: client) }
        case .startable: candidates = startable(words)
        }
        // A shell takes each line as a word.
        return Completion.matching(candidates, current).filter {
            !$0.word.contains { $0.isNewline || $0 == "\t" }
        }
    }

    /// The plugins that `up` would find, by their plugin.json.
    private static func startable(_ words: [String]) -> [Candidate] {
        do {
            let given = Completion.value(of: .plugins, in: words)
            let executable = ProgramPath.current() ?? ""
            guard let path = try PluginFolder.find(given: given, executable: executable) else { return [] }
            return try PluginFolder(path: path, executable: executable).plugins
                .filter { !words.dropFirst().contains($0.name) }.map { Candidate(word: $0.name) }
        } catch {
            // Tab is no place for messages.
            return []
        }
    }

    /// Names from the bus; none if it doesn't give them in time.
    private static func named(_ words: [String], _ ask: (BusNames) throws -> [Candidate]) -> [Candidate] {
        do {
            // Even connecting may wait, if a broker hangs. Nothing has been printed yet.
            try Background.start {
                Pause.sleep(seconds: BusNames.seconds)
                exit(ExitStatus.done.rawValue)
            }
            return try ask(try BusNames(for: words))
        } catch {
            // Tab is no place for messages.
            return []
        }
    }
}
