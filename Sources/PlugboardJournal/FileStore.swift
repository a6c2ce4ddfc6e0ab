// The few file operations that the journal needs. The broker has a folder on disk. Tests simulate a disk
// that can stop, lose bytes and fail at each of these calls.

import PlugboardMemory
import PlugboardPosix

/// The files of one folder. All errors are `SystemError`. Several threads use it.
public protocol FileStore: AnyObject, Sendable {
    /// In byte order.
    func names() throws -> [String]
    func open(_ name: String) throws -> any ReadableFile
    /// Returns when the whole file and its name are on disk, whoever wrote it. Frees the room that was
    /// reserved after its end.
    func sync(_ name: String) throws
    /// Fails if the name exists.
    func create(_ name: String) throws -> any AppendableFile
    /// Shortens a file. The new length is on disk when this returns.
    func truncate(_ name: String, to bytes: Int) throws
    /// If the new name exists, that file is replaced.
    func rename(_ name: String, to other: String) throws
    /// Only `syncNames` makes sure that it doesn't come back after a crash.
    func remove(_ name: String) throws
    /// Returns when all created, renamed and removed names are on disk.
    func syncNames() throws
    /// The bytes that are free and not reserved; nil if unknown.
    func freeBytes() -> Int?
    /// Whether `stamp` can tell a file from a copy of it.
    var hasStamps: Bool { get }
    /// What a file has and no copy of it; nil if there is no such file.
    func stamp(_ name: String) -> FileStamp?
    /// Whether a file that was created is still the one under its name. Somebody may have removed it, or the
    /// whole folder.
    func holds(_ file: any AppendableFile, as name: String) -> Bool
    /// Where the files are, for a person.
    var place: String { get }
}

extension FileStore {
    public var hasStamps: Bool { false }
    public func stamp(_ name: String) -> FileStamp? { nil }
    public func freeBytes() -> Int? { nil }
    public func holds(_ file: any AppendableFile, as name: String) -> Bool { true }
    public var place: String { "its folder" }
}

/// A file for reading. Only one thread uses it.
public protocol ReadableFile: AnyObject {
    var bytes: Int { get }
    /// Reads from `offset` on, at most as many bytes as `buffer` has. Returns how many; 0 at the end.
    func read(at offset: Int, into buffer: inout MutableSpan<UInt8>) throws -> Int
}

/// A file for appending. `sync` may be called while another thread appends.
public protocol AppendableFile: AnyObject, Sendable {
    /// Appends the bytes, or only the first of them. Returns how many.
    func append(_ bytes: Span<UInt8>) throws -> Int
    /// Reserves room for the next `bytes` bytes. Throws `ENOSPC` if there is too little.
    func reserve(_ bytes: Int) throws
    /// Writes `bytes` line feeds after the end. The next appended bytes overwrite them. So a later sync
    /// only has to write data: neither the file's size nor its block list changes.
    func layOut(_ bytes: Int) throws
    /// Frees the room that was reserved or laid out and isn't used.
    func releaseRoom() throws
    /// Returns when everything that was appended before is on disk.
    func sync() throws
    /// Returns when the disk has these bytes, which were appended before. After a crash they may still be missing:
    /// only `sync` makes sure of that.
    func writeBack(from start: Int, count: Int) throws
}

extension AppendableFile {
    public func writeBack(from start: Int, count: Int) throws {}

    /// Appends all bytes. Throws `SystemError`.
    func appendAll(_ bytes: Span<UInt8>) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = try append(rest)
            rest = rest[count...]
        }
    }
}

extension FileStore {
    /// Ends a snapshot's unfinished file, and gives it its name when it is on disk. Returns its size. Throws
    /// `JournalError.failed` if it isn't known whether the names are on disk: that counts for all names.
    func finish(_ file: SnapshotFile, as name: String) throws -> Int {
        let unfinished = JournalFiles.unfinished(name)
        do {
            let bytes = try file.finish()
            try rename(unfinished, to: name)
            try certainly(syncNames)
            return bytes
        } catch let error as SystemError {
            // The disk may be full, and the unfinished file would take the last room.
            try? remove(unfinished)
            throw error
        }
    }

    /// Creates a file, instead of one of that name if there is one.
    func createAnew(_ name: String) throws -> any AppendableFile {
        do {
            return try create(name)
        } catch let error as SystemError where error.code == EEXIST {
            try remove(name)
            return try create(name)
        }
    }
}

// The files on a real disk. What isn't here is `DataFolder`'s own, so a test that simulates a disk leaves out as little
// code as possible.

extension DataFile: ReadableFile, AppendableFile {}

extension DataFolder: FileStore {
    public func open(_ name: String) throws -> any ReadableFile { try open(name) as DataFile }
    public func create(_ name: String) throws -> any AppendableFile { try create(name) as DataFile }
    public var hasStamps: Bool { true }
    public func holds(_ file: any AppendableFile, as name: String) -> Bool {
        (file as? DataFile).map { holds($0, as: name) } ?? true
    }
    public var place: String { path }
}
