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
            let fd = retrying { openNew(temporary, isRunnable ? 0o755 : 0o644) }
            guard fd >= 0 else { throw SystemError.last("write", to) }
            defer { DescriptorCalls.close(fd) }
            // Sets the permissions that the umask took away.
            _ = fchmod(fd, isRunnable ? 0o755 : 0o644)
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
            guard symlink(target, temporary) == 0 else { throw SystemError.last("link", path) }
        }
    }

    /// The target of a symbolic link; nil if there is none.
    public static func target(ofLink path: String) -> String? {
        var target = [CChar](repeating: 0, count: 4_096)
        let count = readlink(path, &target, target.count)
        guard count > 0 else { return nil }
        return String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Removes a file or a link, and returns whether there was one. Throws `SystemError`.
    @discardableResult
    public static func remove(_ path: String) throws -> Bool {
        if unlink(path) == 0 { return true }
        guard errno == ENOENT || errno == ENOTDIR else { throw SystemError.last("remove", path) }
        return false
    }

    /// Removes a folder if nothing is in it.
    public static func removeIfEmpty(_ folder: String) {
        rmdir(folder)
    }

    private static func replace(_ path: String, _ make: (_ temporary: String) throws -> Void) throws {
        let temporary = "\(path).new-\(getpid())"
        unlink(temporary)
        do {
            try make(temporary)
            guard renameOver(temporary, path) == 0 else { throw SystemError.last("write", path) }
        } catch {
            unlink(temporary)
            throw error
        }
    }
}

/// The calls under names that the functions above don't shadow.
private func openNew(_ path: String, _ mode: mode_t) -> Int32 {
    open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
}
private func renameOver(_ from: String, _ to: String) -> Int32 { rename(from, to) }
