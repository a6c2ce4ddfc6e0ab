// Small files written whole.

import PlugboardMemory

/// Files that this program makes.
public enum OutputFile {
    /// Creates a file with that content, or replaces what is there. Throws `SystemError`.
    public static func write(_ text: String, to path: String) throws {
        try write(text, to: path, O_TRUNC, 0o644)
    }

    /// The same for this user's eyes only. The file appears as a whole, and whoever has opened the one
    /// before goes on reading that. Throws `SystemError`.
    public static func writePrivately(_ text: String, to path: String) throws {
        let draft = "\(path).\(getpid())"
        PathCalls.removeFile(draft)
        try write(text, to: draft, O_EXCL | O_NOFOLLOW, 0o600)
        guard PathCalls.renameFile(draft, path) == 0 else { throw SystemError.last("rename", path) }
    }

    private static func write(_ text: String, to path: String, _ flags: Int32, _ mode: mode_t) throws {
        let fd = PathCalls.openFile(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode)
        guard fd >= 0 else { throw SystemError.last("write", path) }
        defer { DescriptorCalls.close(fd) }
        switch StandardStream(fd: fd).write(SystemText.bytes(text)) {
        case .all: return
        case .readerGone: throw SystemError(code: EPIPE, operation: "write", subject: path)
        case .failed(let code): throw SystemError(code: code, operation: "write", subject: path)
        }
    }
}
