// Finds the program that a person names, as a shell does.

import PlugboardPosix

/// The search for a program's file.
enum ProgramSearch {
    /// The path of a program. A word with a slash is a path already; others are looked for in `PATH`. Throws
    /// if there is no such program.
    static func path(of word: String) throws(CommandError) -> String {
        if word.contains("/") {
            guard FileStatus(path: word).kind != .missing else {
                throw failure(word, "there is no such file")
            }
            guard FileStatus.isRunnable(path: word) else { throw failure(word, "it is no program") }
            return word
        }
        let folders = (SocketPath.variable("PATH") ?? "/usr/bin:/bin").split(separator: ":")
        let found = folders.map { "\($0)/\(word)" }.first(where: FileStatus.isRunnable)
        guard let found else { throw failure(word, "no folder of PATH has it") }
        return found
    }

    private static func failure(_ word: String, _ reason: String) -> CommandError {
        CommandError(.refused, "\(word) can't be started: \(reason)")
    }
}
