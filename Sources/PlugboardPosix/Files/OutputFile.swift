// Small files written whole.

/// Files that this program makes.
public enum OutputFile {
    /// Creates a file with that content, or replaces what is there. Throws `SystemError`.
    public static func write(_ text: String, to path: String) throws {
        let fd = PathCalls.openFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard fd >= 0 else { throw SystemError.last("write", path) }
        defer { DescriptorCalls.close(fd) }
        switch StandardStream(fd: fd).write(Array(text.utf8)) {
        case .all: return
        case .readerGone: throw SystemError(code: EPIPE, operation: "write", subject: path)
        case .failed(let code): throw SystemError(code: code, operation: "write", subject: path)
        }
    }
}
