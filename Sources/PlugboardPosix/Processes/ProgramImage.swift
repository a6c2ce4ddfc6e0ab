// Becoming another program, in the same process.

/// Replaces this process's program.
public enum ProgramImage {
    /// Runs `program` in place of this one, with the same descriptors, folder and
    /// environment. Returns only where that failed.
    public static func replace(by program: String, arguments: [String]) -> SystemError {
        // An ignored signal stays ignored across exec, and no program expects an ignored SIGPIPE.
        signal(SIGPIPE, SIG_DFL)
        _ = CStringArray.with([program] + arguments) { execv(program, $0) }
        return SystemError.last("run", program)
    }
}
