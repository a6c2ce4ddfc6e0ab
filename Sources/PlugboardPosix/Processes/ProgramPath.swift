// Where this program's own file is. From there it finds the programs beside it, and starts copies
// of itself.

/// The running program's file.
public enum ProgramPath {
    /// Its absolute path, symbolic links resolved; nil if the system doesn't say.
    public static func current() -> String? {
        PlatformProgramPath.current()
    }

    /// The absolute path of `path` with symbolic links resolved; nil if nothing is there.
    public static func resolved(_ path: String) -> String? {
        PathCalls.resolved(path)
    }
}
