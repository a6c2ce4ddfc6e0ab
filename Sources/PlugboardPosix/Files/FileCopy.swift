// Files and links that are replaced in one step: a reader sees the old one or the new one. A
// program that runs from the old one goes on.

/// Copies of files.
public enum FileCopy {
    /// Makes `to` a copy of the file `from`, with its permissions. Replaces what is there. Throws
    /// `SystemError`.
    public static func make(of from: String, at to: String) throws {
        let isRunnable = FileStatus.isRunnable(path: from)
        let source = try InputFile(path: from)
        try replace(to) { temporary in
            let mode: mode_t = isRunnable ? 0o755 : 0o644
            let fd = PathCalls.openFile(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
            guard fd >= 0 else { throw SystemError.last("write", to) }
            defer { DescriptorCalls.close(fd) }
            // Sets the permissions that the umask took away.
            _ = fchmod(fd, mode)
            var chunk = [UInt8](repeating: 0, count: 256 * 1024)
            while true {
                var room = chunk.mutableSpan
                let count = try source.read(into: &room)
                if count == 0 { return }
                if case .failed(let code) = StandardStream(fd: fd).write(Array(chunk[..<count])) {
                    throw SystemError(code: code, operation: "write", subject: to)
                }
            }
        }
    }

    /// Makes `path` a symbolic link to `target`. Replaces what is there. Throws `SystemError`.
    public static func link(at path: String, to target: String) throws {
        try replace(path) { temporary in
            guard PathCalls.makeLink(temporary, to: target) == 0 else { throw SystemError.last("link", path) }
        }
    }

    /// The target of a symbolic link; nil if there is none.
    public static func target(ofLink path: String) -> String? {
        PathCalls.linkTarget(path)
    }

    /// The path behind symbolic links, whether anything is there or not.
    public static func place(behind path: String) -> String {
        var place = path
        // As many as the system follows.
        for _ in 0..<40 {
            guard let target = target(ofLink: place) else { break }
            place = target.hasPrefix("/") ? target : "\(SocketPath.folder(of: place))/\(target)"
        }
        return place
    }

    /// Gives a file another name. Replaces what has that name.
    public static func move(_ from: String, to other: String) throws(SystemError) {
        guard PathCalls.renameFile(from, other) == 0 else { throw SystemError.last("rename", from) }
    }

    /// Removes a file or a link, and returns whether there was one. Throws `SystemError`.
    @discardableResult
    public static func remove(_ path: String) throws -> Bool {
        if PathCalls.removeFile(path) == 0 { return true }
        guard errno == ENOENT || errno == ENOTDIR else { throw SystemError.last("remove", path) }
        return false
    }

    /// Removes a folder if nothing is in it.
    public static func removeIfEmpty(_ folder: String) {
        PathCalls.removeFolder(folder)
    }

    private static func replace(_ path: String, _ make: (_ temporary: String) throws -> Void) throws {
        let temporary = "\(path).new-\(getpid())"
        PathCalls.removeFile(temporary)
        do {
            try make(temporary)
            guard PathCalls.renameFile(temporary, path) == 0 else { throw SystemError.last("write", path) }
        } catch {
            PathCalls.removeFile(temporary)
            throw error
        }
    }
}
