// The few things that the journal does with files. The real files are in one folder of a
// disk. Tests use a simulated disk that can stop, lose bytes and fail at each of these
// calls.

import PlugboardMemory
import PlugboardPosix

/// The files of one folder. Whatever throws here throws `SystemError`.
public protocol FileStore: AnyObject, Sendable {
    /// The names of all files, in byte order.
    func names() throws -> [String]
    /// Opens a file for reading.
    func open(_ name: String) throws -> any ReadableFile
    /// Returns when the whole file and its name are on disk, whoever wrote it. Gives back room
    /// that was reserved after its end.
    func sync(_ name: String) throws
    /// Makes a new file, for appending.
    func create(_ name: String) throws -> any AppendableFile
    /// Shortens a file, permanently once this returns.
    func truncate(_ name: String, to bytes: Int) throws
    /// Renames a file, and replaces the file that had the new name.
    func rename(_ name: String, to other: String) throws
    /// Removes a file, permanently after the next `syncNames`.
    func remove(_ name: String) throws
    /// Returns when the names are on disk: those created, renamed and removed.
    func syncNames() throws
    /// Bytes of free room, without what is reserved; nil if unknown.
    func freeBytes() -> Int?
}

extension FileStore {
    public func freeBytes() -> Int? { nil }
}

/// A file for reading. One thread uses it.
public protocol ReadableFile: AnyObject {
    var bytes: Int { get }
    /// Reads at an offset, at most as many bytes as the buffer has; 0 at the end.
    func read(at offset: Int, into buffer: inout MutableSpan<UInt8>) throws -> Int
}

/// A file for appending. `sync` may be called while another thread appends.
public protocol AppendableFile: AnyObject, Sendable {
    /// Appends the bytes or the first of them, and returns how many.
    func append(_ bytes: Span<UInt8>) throws -> Int
    /// Makes sure that the next `bytes` bytes will have room. Throws `ENOSPC` if they won't.
    /// Returns false if nothing is certain here.
    func reserve(_ bytes: Int) throws -> Bool
    /// Fills this many bytes after the end with line feeds. The next appended bytes replace them.
    /// A sync of those then changes neither the file's size nor anything else that the system
    /// notes about it.
    func layOut(_ bytes: Int) throws
    /// Gives back unused room that was reserved or laid out.
    func releaseRoom() throws
    /// Returns when everything that was appended before is on disk.
    func sync() throws
}
