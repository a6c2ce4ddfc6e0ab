// The seam under the journal: the few things it does with files. The real ones lie in one
// folder of a disk; a simulated disk can stop, lose and refuse at every one of them.

import PlugboardMemory
import PlugboardPosix

/// The files of one folder. What throws throws `SystemError`.
public protocol FileStore: AnyObject, Sendable {
    /// The names of all files, in byte order.
    func names() throws -> [String]
    /// Opens a file to be read.
    func open(_ name: String) throws -> any ReadableFile
    /// Returns when all of a file, and its name, is on disk, whoever wrote it. Room that was reserved
    /// behind it is given back.
    func sync(_ name: String) throws
    /// Makes a file that was not there, to be appended to.
    func create(_ name: String) throws -> any AppendableFile
    /// Shortens a file, for good once this returns.
    func truncate(_ name: String, to bytes: Int) throws
    /// Gives a file another name; one that has it is replaced.
    func rename(_ name: String, to other: String) throws
    /// Removes a file, for good after the next `syncNames`.
    func remove(_ name: String) throws
    /// Returns when the names are on disk: what was created, renamed and removed.
    func syncNames() throws
    /// Bytes that there still is room for, beside what is reserved; nil: nothing can be said.
    func freeBytes() -> Int?
}

extension FileStore {
    public func freeBytes() -> Int? { nil }
}

/// A file that is read. Used by one thread.
public protocol ReadableFile: AnyObject {
    var bytes: Int { get }
    /// Reads at an offset, at most the buffer's length; 0 at the end.
    func read(at offset: Int, into buffer: inout MutableSpan<UInt8>) throws -> Int
}

/// A file that grows. `sync` may be called while another thread appends.
public protocol AppendableFile: AnyObject, Sendable {
    /// Appends the bytes, or the first of them: how many were taken.
    func append(_ bytes: Span<UInt8>) throws -> Int
    /// Makes sure that the next `bytes` bytes will find room. Throws `ENOSPC` where they
    /// won't; false: nothing can be said here.
    func reserve(_ bytes: Int) throws -> Bool
    /// Fills so many bytes behind the end with line feeds, in place of which the next bytes are
    /// appended: bringing those to disk then takes no change of the file's size, nor of what else
    /// the system notes about a file.
    func layOut(_ bytes: Int) throws
    /// Gives back room that was reserved or laid out and not used.
    func releaseRoom() throws
    /// Returns when all that was appended before is on disk.
    func sync() throws
}
