#if os(Linux)
    // A person at a shell: an interactive shell on a pseudo-terminal, with the completions of this program.

    import PlugboardPosix
    import TestSupport
    import Testing

    @testable import plugboard

    /// An interactive shell.
    final class ShellSession {
        private let terminal: TestTerminal
        private let run: Run

        /// Starts a shell without its configuration, and has it read the completions.
        init(_ shell: ShellScript, in folder: TemporaryFolder, bus: String) throws {
            terminal = try TestTerminal(columns: 120, rows: 40)
            let setup =
                switch shell {
                case .bash: "source <(plugboard completions bash); PS1='read''y '"
                case .zsh:
                    "autoload -U compinit; compinit -u -D; source <(plugboard completions zsh); PS1='read''y '"
                case .fish: "plugboard completions fish | source; function fish_prompt; echo 'read''y '; end"
                }
            let options =
                switch shell {
                case .bash: ["--noprofile", "--norc", "-i"]
                case .zsh: ["-f", "-i"]
                case .fish: ["--no-config", "-i"]
                }
            run = try Run(
                program: "/usr/bin/setsid",
                ["-c", shell.rawValue] + options,
                in: folder,
                environment: [
                    "PATH": "\(Products.folder):/usr/bin:/bin", "HOME": folder.path, "PLUGBOARD_SOCKET": bus,
                    "TERM": "vt100", "LC_ALL": "C.UTF-8",
                ],
                terminal: terminal.path,
                typing: true
            )
            try eventually("\(shell) prompts") { !terminal.shown().isEmpty }
            type(setup + "\n")
            try expect("ready ")
        }

        deinit { run.signal(SIGKILL) }

        /// Whether a program is where a test can run it.
        static func hasShell(_ shell: ShellScript) -> Bool {
            FileStatus.isRunnable(path: "/usr/bin/setsid")
                && ["/bin/", "/usr/bin/"].contains { FileStatus.isRunnable(path: $0 + shell.rawValue) }
        }

        func type(_ text: String) { terminal.type(text) }

        /// Types what Tab is to complete with the bus's help, then Tab, then the line's end. Tab waits
        /// a fifth of a second for the bus, which is too short on a busy machine: a person presses it
        /// again.
        func complete(_ text: String, to completed: String) throws {
            let before = shown.ranges(of: completed).count
            type(text)
            try eventually("\(text) is completed") {
                type("\t")
                Pause.sleep(seconds: 0.5)
                return shown.ranges(of: completed).count > before
            }
            type("\n")
        }

        /// Everything that is to be seen.
        var shown: String { terminal.shown() }

        /// Waits until a text is to be seen so many times.
        func expect(_ text: String, times: Int = 1) throws {
            do {
                try eventually("the shell shows \(text.debugDescription)") {
                    shown.ranges(of: text).count >= times
                }
            } catch {
                Issue.record("it shows \(shown.debugDescription)")
                throw error
            }
        }
    }
#endif
