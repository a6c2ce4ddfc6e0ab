// Opens standard input for commands. If a person has to type, the command says so, because a waiting command
// looks like one that hangs.

import PlugboardPosix

/// Standard input.
enum StandardInput {
    /// Opens it to read from the beginning.
    static func open() throws -> InputFile {
        if isatty(0) == 1 { CommandConsole().say("reading what is typed here; Ctrl-D ends") }
        return try InputFile.standardInput()
    }
}
