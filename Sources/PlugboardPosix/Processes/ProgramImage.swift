// Becoming another program, in the same process.

/// Replaces this process's program.
public enum ProgramImage {
    /// Runs `program` in place of this one, with the same descriptors, folder and
    /// environment. Returns only if that failed.
    public static func replace(by program: String, arguments: [String]) -> SystemError {
        // An ignored signal stays ignored across exec, and no program expects that of these.
        for number in Signals.ofWrites { signal(number, SIG_DFL) }
        SpawnCalls.execute(program, arguments)
        return SystemError.starting(program, "run", code: errno)
    }
}
