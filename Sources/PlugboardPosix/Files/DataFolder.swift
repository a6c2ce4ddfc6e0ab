// A private folder of data files that outlive the process, and the few calls that bring them to
// disk. Every failure is thrown unchanged.

import PlugboardMemory

/// A folder that only its user can enter.
public final class DataFolder: Sendable {
    public let path: String
    /// Kept open, so that a sync works even when no further descriptor is free.
    private let descriptor: Descriptor

    /// Opens a folder. Makes it and its missing parents with mode 0700. Throws `UntrustedFolder`,
    /// `ClosedPlace` or `SystemError`.
    public init(path: String) throws {
        self.path = path
        try Folder.make(path)
        guard let status = PathCalls.status(path) else { throw SystemError.last("open", path) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw Self.error(ENOTDIR, "open", path) }
        guard status.st_uid == geteuid() else { throw UntrustedFolder(path: path, user: status.st_uid) }
        guard status.st_mode & 0o022 == 0 else { throw UntrustedFolder(path: path, user: nil) }
        // Whoever made a link chooses which of this user's folders it leads to.
        if let maker = PathCalls.linkStatus(path)?.st_uid, maker != geteuid(), maker != 0 {
            throw UntrustedFolder(path: path, user: maker)
        }
        let fd = PathCalls.openFile(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard fd >= 0 else { throw SystemError.last("open", path) }
        descriptor = Descriptor(adopting: fd)
    }

    public func names() throws -> [String] {
        try Folder.names(in: path)
    }

    /// Also throws if it isn't a plain file.
    public func open(_ name: String) throws -> DataFile {
        try DataFile(file(name), O_RDONLY)
    }

    /// Makes a new file with mode 0600.
    public func create(_ name: String) throws -> DataFile {
        try DataFile(file(name), O_WRONLY | O_CREAT | O_EXCL)
    }

    public func truncate(_ name: String, to bytes: Int) throws {
        let file = try DataFile(file(name), O_WRONLY)
        try file.truncate(to: bytes)
        try file.sync()
    }

    /// Returns when all of a file and its name are on disk. Room that was reserved behind it is given back.
    public func sync(_ name: String) throws {
        let file = try DataFile(file(name), O_WRONLY)
        try file.truncate(to: file.bytes)
        try file.sync()
        try syncNames()
    }

    public func rename(_ name: String, to other: String) throws {
        let (from, to) = (file(name), file(other))
        guard PathCalls.renameFile(from, to) == 0 else { throw SystemError.last("rename", from) }
    }

    public func remove(_ name: String) throws {
        guard PathCalls.removeFile(file(name)) == 0 else { throw SystemError.last("remove", file(name)) }
    }

    /// What tells a file from a copy of it; nil if there is no file.
    public func stamp(_ name: String) -> FileStamp? { FileStamp(path: file(name)) }

    /// Returns when the names in the folder are on disk.
    public func syncNames() throws {
        guard retrying({ fsync(descriptor.raw) }) == 0 else { throw SystemError.last("fsync", path) }
    }

    /// Free bytes on the disk for this user; nil if the system doesn't say.
    public func freeBytes() -> Int? {
        guard let status = PathCalls.volumeStatus(descriptor.raw), status.f_blocks > 0 else { return nil }
        let free = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return free.overflow ? nil : Int(exactly: free.partialValue)
    }

    /// Whether a file of the folder is still the one under its name.
    public func holds(_ open: DataFile, as name: String) -> Bool {
        FileIdentity(path: file(name)).map { $0 == FileIdentity(fd: open.raw) } ?? false
    }

    /// Takes a lock file in the folder, or returns nil if another process holds it.
    public func lock(_ name: String) throws -> Descriptor? {
        try FileLock.acquire(file(name))
    }

    /// Whether a lock that was taken there is still the folder's. If its file was removed, takes it anew.
    @discardableResult
    public func keepLock(_ name: String, _ lock: borrowing Descriptor) -> Bool {
        FileLock.keep(lock.raw, file(name))
    }

    private func file(_ name: String) -> String { "\(path)/\(name)" }

    private static func error(_ code: Int32, _ operation: String, _ path: String) -> SystemError {
        SystemError(code: code, operation: operation, subject: path)
    }
}

/// Why a folder isn't used: others could change what is in it.
public struct UntrustedFolder: Error, Equatable, CustomStringConvertible {
    public let path: String
    /// The other user to whom it belongs; nil if others may write to it.
    let user: UInt32?

    public var description: String {
        guard let user else { return "other users may write to the folder \(path)" }
        return "the folder \(path) belongs to another user (\(Accounts.name(of: user) ?? "\(user)"))"
    }
}

/// A file in such a folder: read at any place, or appended to.
public final class DataFile: Sendable {
    /// The line feeds to write at a time: enough for the system to keep them in one piece of memory. They
    /// are made once, because finding memory for them takes as long as writing them.
    private static let lineFeeds = [UInt8](repeating: 0x0A, count: 262_144)
    private let path: String
    private let descriptor: Descriptor

    init(_ path: String, _ flags: Int32) throws {
        // Opening a pipe would wait.
        let fd = PathCalls.openFile(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard fd >= 0 else { throw SystemError.last("open", path) }
        self.path = path
        descriptor = Descriptor(adopting: fd)
        guard FileStatus(fd: fd).kind == .file else {
            throw SystemError(code: EINVAL, operation: "open as a file", subject: path)
        }
    }

    /// A file outside of such a folder, or a pipe or a device: appended bytes go to its end. A new
    /// file is for its owner only. Throws if there is a file of another user, who could read what is
    /// appended, or another user's link, because that user chose the file.
    public static func appending(to path: String) throws(SystemError) -> DataFile {
        let fd = PathCalls.openFile(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard fd >= 0 else { throw SystemError.last("open", path) }
        let file = DataFile(adopting: fd, path: path)
        if let user = file.otherUser(at: path) {
            let name = Accounts.name(of: user) ?? "\(user)"
            let subject = "\(path) (it belongs to another user, \(name))"
            throw SystemError(code: EPERM, operation: "append to", subject: subject)
        }
        return file
    }

    /// The other user to whom the file belongs, or what leads to it: a link, or a pipe with a name. A terminal may
    /// be another user's: `sudo` keeps it.
    private func otherUser(at path: String) -> UInt32? {
        let link = PathCalls.linkStatus(path).flatMap { $0.st_mode & S_IFMT == S_IFCHR ? nil : $0.st_uid }
        let file = isRegular ? PathCalls.status(raw)?.st_uid : nil
        return [link, file].compactMap(\.self).first { $0 != Accounts.ownUser && $0 != 0 }
    }

    /// A file without a name, which is gone when no process has it open. Throws `SystemError`.
    public static func unnamed() throws -> DataFile {
        let parent = SocketPath.variable("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        let fd = PathCalls.openUnnamedFile("\(parent)/plugboard")
        guard fd >= 0 else { throw SystemError.last("mkstemp", parent) }
        return DataFile(adopting: fd)
    }

    /// Such a file with these bytes, to be read from its beginning. Throws `SystemError`.
    public static func unnamed(containing bytes: [UInt8]) throws -> DataFile {
        let file = try unnamed()
        var done = 0
        while done < bytes.count { done += try file.append(bytes.span[done...]) }
        guard lseek(file.raw, 0, SEEK_SET) == 0 else { throw SystemError.last("seek", file.path) }
        return file
    }

    /// All that is in it. Throws `SystemError`.
    public func contents() throws -> [UInt8] {
        var contents = [UInt8](repeating: 0, count: bytes)
        var done = 0
        while done < contents.count {
            var all = contents.mutableSpan
            var rest = all._mutatingExtracting(done...)
            let count = try read(at: done, into: &rest)
            guard count > 0 else { throw SystemError(code: EIO, operation: "read", subject: path) }
            done += count
        }
        return contents
    }

    /// Goes on with a file that is open.
    init(adopting fd: Int32, path: String = "a file without a name") {
        self.path = path
        descriptor = Descriptor(adopting: fd)
    }

    /// The number, for calls that borrow it.
    public var raw: Int32 { descriptor.raw }

    /// The size, room that was laid out included.
    public var bytes: Int { FileStatus(fd: descriptor.raw).bytes }

    /// Whether it is a file on a disk, not a pipe or a device.
    public var isRegular: Bool { FileStatus(fd: descriptor.raw).kind == .file }

    /// Where the next appended bytes go.
    private func end() throws -> Int {
        let end = lseek(descriptor.raw, 0, SEEK_CUR)
        guard end >= 0 else { throw SystemError.last("seek", path) }
        return Int(end)
    }

    /// Reads at an offset, at most the buffer's length; 0 at the end.
    public func read(at offset: Int, into buffer: inout MutableSpan<UInt8>) throws(SystemError) -> Int {
        let count = retrying { ByteCalls.readBytes(descriptor.raw, &buffer, at: offset) }
        guard count >= 0 else { throw SystemError.last("read", path) }
        return count
    }

    /// Appends the bytes, or the first of them: how many the system took.
    public func append(_ bytes: Span<UInt8>) throws(SystemError) -> Int {
        if bytes.isEmpty { return 0 }
        let count = retrying { ByteCalls.writeBytes(descriptor.raw, bytes) }
        guard count > 0 else {
            throw SystemError(code: count == 0 ? EIO : errno, operation: "write", subject: path)
        }
        return count
    }

    /// Reserves room for the next bytes without changing the size. If this file system can't do
    /// that, it writes the room as line feeds. Throws `ENOSPC` if there is none, and `EFBIG` if the
    /// file may not get so large: the system gives room past that, and refuses the bytes.
    public func reserve(_ bytes: Int) throws {
        let start = try end()
        guard start + bytes <= OpenFiles.bytesMax else {
            throw SystemError(code: EFBIG, operation: "reserve", subject: path)
        }
        let code = PlatformFile.reserve(descriptor.raw, from: start, bytes)
        if code == 0 { return }
        if code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO {
            throw SystemError(code: code, operation: "reserve", subject: path)
        }
        try layOut(bytes)
    }

    /// Writes line feeds after the end. The next appended bytes replace them.
    public func layOut(_ bytes: Int) throws {
        var place = try end()
        let last = place + bytes
        while place < last {
            let piece = Self.lineFeeds.span[..<min(Self.lineFeeds.count, last - place)]
            let count = retrying { ByteCalls.writeBytes(descriptor.raw, piece, at: place) }
            guard count > 0 else { throw SystemError.last("write", path) }
            place += count
        }
    }

    /// Gives back what was reserved or laid out and not used.
    public func releaseRoom() throws {
        try truncate(to: end())
    }

    func truncate(to bytes: Int) throws {
        guard retrying({ ftruncate(descriptor.raw, off_t(bytes)) }) == 0 else {
            throw SystemError.last("truncate", path)
        }
    }

    /// Returns when the disk has these bytes, as far as the system can be asked for that. Only `sync` makes sure
    /// that they, and the file's size, are there after a crash. Throws an error of the disk.
    public func writeBack(from start: Int, count: Int) throws {
        guard PlatformFile.writeBack(descriptor.raw, from: start, count) == 0 else {
            throw SystemError.last("sync_file_range", path)
        }
    }

    /// Returns when all that was written is on disk.
    public func sync() throws {
        guard PlatformFile.sync(descriptor.raw) == 0 else { throw SystemError.last("fsync", path) }
    }
}
