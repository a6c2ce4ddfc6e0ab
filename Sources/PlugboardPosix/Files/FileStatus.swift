// What is at a path: enough to find plugins and their programs, and to tell a person why something
// isn't one.

/// What a path or descriptor is.
public struct FileStatus: Sendable {
    public enum Kind: Sendable {
        case file
        case folder
        case socket
        /// A pipe, a terminal, a device.
        case other
        /// Nothing is there, or nothing this user may see.
        case missing
    }

    public let kind: Kind
    public let bytes: Int

    /// Follows symbolic links.
    public init(path: String) {
        self.init(PathCalls.status(path))
    }

    init(fd: Int32) {
        self.init(PathCalls.status(fd))
    }

    /// This user may run the file.
    public static func isRunnable(path: String) -> Bool {
        FileStatus(path: path).kind == .file && PathCalls.mayRun(path)
    }

    private init(_ status: stat?) {
        guard let status else {
            kind = .missing
            bytes = 0
            return
        }
        bytes = Int(status.st_size)
        switch status.st_mode & S_IFMT {
        case S_IFREG: kind = .file
        case S_IFDIR: kind = .folder
        case S_IFSOCK: kind = .socket
        default: kind = .other
        }
    }
}

/// The identity of a file: two names or descriptors of one file are equal, and a file that was
/// replaced is another.
public struct FileIdentity: Equatable, Sendable {
    private let device: UInt64
    private let node: UInt64
    private let bytes: Int64

    /// Follows symbolic links; nil if nothing is there.
    public init?(path: String) {
        guard let status = PathCalls.status(path) else { return nil }
        self.init(status)
    }

    init?(fd: Int32) {
        guard let status = PathCalls.status(fd) else { return nil }
        self.init(status)
    }

    /// As another program in this process has written it.
    init?(_ text: String) {
        let numbers = text.split(separator: ":", omittingEmptySubsequences: false)
        guard numbers.count == 3, let device = UInt64(numbers[0]), let node = UInt64(numbers[1]),
            let bytes = Int64(numbers[2])
        else { return nil }
        (self.device, self.node, self.bytes) = (device, node, bytes)
    }

    var text: String { "\(device):\(node):\(bytes)" }

    private init(_ status: stat) {
        device = UInt64(status.st_dev)
        node = UInt64(status.st_ino)
        bytes = Int64(status.st_size)
    }
}

/// What a file has and no copy of it: its number in its file system, and when it was last written, renamed or
/// linked, which nobody can set. A file that was put back from a copy has another.
public struct FileStamp: Equatable, Sendable {
    public let node: UInt64
    /// In nanoseconds since 1970.
    public let changed: Int64

    /// Doesn't follow symbolic links; nil if nothing is there.
    public init?(path: String) {
        guard let status = PathCalls.linkStatus(path) else { return nil }
        node = UInt64(status.st_ino)
        let time = changeTime(status)
        changed = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

/// Folders and what is in them.
public enum Folder {
    /// The names in a folder but `.` and `..`, in byte order. Throws `SystemError`.
    public static func names(in path: String) throws -> [String] {
        guard let names = PathCalls.names(in: path) else { throw SystemError.last("list", path) }
        // Strings of ASCII have the same order as their bytes, and are compared twenty times faster.
        if names.allSatisfy({ $0.utf8.allSatisfy { $0 < 0x80 } }) { return names.sorted() }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Makes a folder and its missing parents, with this mode, from which the umask takes away if it is
    /// obeyed. Throws `SystemError`, or what denies the path.
    public static func make(_ path: String, mode: mode_t = 0o700, obeyingUmask: Bool = true) throws {
        // Where a folder is denied, it may be there nevertheless. If it isn't, the system only says of the
        // next one that something is missing.
        var denial: (any Error)?
        var end = path.startIndex
        while end < path.endIndex {
            end = path[path.index(after: end)...].firstIndex(of: "/") ?? path.endIndex
            let part = String(path[..<end])
            if PathCalls.makeFolder(part, mode) == 0 {
                if !obeyingUmask { _ = PathCalls.setMode(part, mode) }
            } else if errno == EROFS || errno == EACCES {
                denial = denial ?? SystemError.last("create", part).explained(at: part, isMaking: true)
            } else if errno != EEXIST, errno != EISDIR {
                throw denial ?? SystemError.last("create", part)
            }
        }
        if let denial, FileStatus(path: path).kind == .missing { throw denial }
    }

    /// Removes a folder with everything in it, or a file, as far as possible. Links are removed,
    /// never followed.
    public static func remove(_ path: String) {
        guard let status = PathCalls.linkStatus(path) else { return }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            PathCalls.removeFile(path)
            return
        }
        for name in (try? names(in: path)) ?? [] { remove("\(path)/\(name)") }
        PathCalls.removeFolder(path)
    }

    /// The current folder's absolute path.
    public static func current() -> String {
        ProgramPath.resolved(".") ?? "."
    }
}
