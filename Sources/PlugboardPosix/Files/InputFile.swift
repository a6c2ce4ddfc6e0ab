// Reads files, pipes and terminals, and waits if there is nothing yet. Not for sockets.

/// An open file to read from, front to back. Used by one thread.
public struct InputFile: ~Copyable {
    private let descriptor: Descriptor

    /// Opens a file. Throws `SystemError` if it can't be read, or is a folder.
    public init(path: String) throws {
        let fd = PathCalls.openFile(path, O_RDONLY | O_CLOEXEC)
        guard fd >= 0 else { throw SystemError.last("read", path) }
        guard FileStatus(fd: fd).kind != .folder else {
            DescriptorCalls.close(fd)
            throw SystemError(code: EISDIR, operation: "read", subject: path)
        }
        descriptor = Descriptor(adopting: fd)
    }

    /// Standard input, which stays open when this goes away.
    public static func standardInput() throws -> InputFile {
        let fd = fcntl(0, F_DUPFD_CLOEXEC, 3)
        guard fd >= 0 else { throw SystemError.last("read", "standard input") }
        return InputFile(descriptor: Descriptor(adopting: fd))
    }

    private init(descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    /// The size in bytes of a regular file; nil if the end isn't known ahead.
    public var bytes: Int? {
        let status = FileStatus(fd: descriptor.raw)
        return status.kind == .file ? status.bytes : nil
    }

    public var raw: Int32 { descriptor.raw }

    /// Waits for bytes and reads at most the buffer's length; 0 at the end.
    public borrowing func read(into buffer: inout MutableSpan<UInt8>) throws -> Int {
        switch PipeCalls.read(descriptor.raw, into: &buffer) {
        case .bytes(let count): return count
        case .ended: return 0
        case .wouldBlock:
            PipeCalls.waitReadable(descriptor.raw)
            return try read(into: &buffer)
        case .failed(let code): throw SystemError(code: code, operation: "read")
        }
    }

    /// Reads at an offset of a regular file, at most the buffer's length; 0 at the end.
    public borrowing func read(at offset: Int, into buffer: inout MutableSpan<UInt8>) throws -> Int {
        let count = retrying { ByteCalls.readBytes(descriptor.raw, &buffer, at: offset) }
        guard count >= 0 else { throw SystemError.last("read", "a file") }
        return count
    }

    /// The whole of a small file. Throws `SystemError` (`EFBIG`) past `limit` bytes.
    public static func contents(path: String, limit: Int) throws -> [UInt8] {
        let contents = try InputFile(path: path).contents(limit: limit)
        guard let contents else { throw SystemError(code: EFBIG, operation: "read", subject: path) }
        return contents
    }

    /// All that follows; nil if that is more than `limit` bytes.
    public borrowing func contents(limit: Int) throws -> [UInt8]? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while bytes.count <= limit {
            var room = chunk.mutableSpan
            let count = try read(into: &room)
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
        }
        return nil
    }
}

/// `read` and `write` on pipes, terminals and files, where a socket's calls don't apply.
public enum PipeCalls {
    /// Reads what is there, at most the buffer's length.
    public static func read(_ fd: Int32, into buffer: inout MutableSpan<UInt8>) -> Transfer {
        let count = retrying { ByteCalls.readBytes(fd, &buffer) }
        if count > 0 { return .bytes(count) }
        return count == 0 ? .ended : failure()
    }

    /// The same into an array, which has just what was read.
    public static func read(_ fd: Int32, upTo count: Int) -> (transfer: Transfer, bytes: [UInt8]) {
        var bytes = [UInt8](repeating: 0, count: count)
        var room = bytes.mutableSpan
        let transfer = read(fd, into: &room)
        if case .bytes(let count) = transfer { return (transfer, Array(bytes[..<count])) }
        return (transfer, [])
    }

    /// Writes what the system takes at once. If the reader is gone, the result is `.ended`,
    /// provided that `Signals.ignoreFailedWrites()` was called before.
    public static func write(_ fd: Int32, _ bytes: Span<UInt8>) -> Transfer {
        let count = retrying { ByteCalls.writeBytes(fd, bytes) }
        return count >= 0 ? .bytes(count) : failure()
    }

    /// Whether a read would answer at once.
    public static func isReadable(_ fd: Int32) -> Bool {
        wait(for: .read, of: fd, milliseconds: 0) > 0
    }

    /// Waits until something can be read, or the writer is gone.
    public static func waitReadable(_ fd: Int32) {
        _ = wait(for: .read, of: fd, milliseconds: -1)
    }

    /// Waits so long for this, or for ever if that is negative: positive if it came, 0 if it didn't,
    /// -1 and `errno` if a signal interrupted it.
    public static func wait(for interest: Interest, of fd: Int32, milliseconds: Int32) -> Int32 {
        PollCalls.wait(fd, PollPoller.bits(interest), milliseconds)
    }

    private static func failure() -> Transfer {
        switch errno {
        case EAGAIN, EWOULDBLOCK: .wouldBlock
        case EPIPE: .ended
        default: .failed(errno)
        }
    }
}
