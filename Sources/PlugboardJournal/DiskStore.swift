// The journal's files on a real disk. Each method is one call of `DataFolder`, except `sync`, so a test
// that simulates a disk leaves out as little code as possible. `JournalFolder` owns it.

import PlugboardPosix

extension DataFile: ReadableFile, AppendableFile {}

/// The files of a folder on disk.
public final class DiskStore: FileStore {
    private let folder: DataFolder

    public init(_ folder: DataFolder) {
        self.folder = folder
    }

    public func names() throws -> [String] { try folder.names() }
    public func open(_ name: String) throws -> any ReadableFile { try folder.open(name) }
    public func sync(_ name: String) throws {
        try folder.sync(name)
        try folder.syncNames()
    }
    public func create(_ name: String) throws -> any AppendableFile { try folder.create(name) }
    public func truncate(_ name: String, to bytes: Int) throws { try folder.truncate(name, to: bytes) }
    public func rename(_ name: String, to other: String) throws { try folder.rename(name, to: other) }
    public func remove(_ name: String) throws { try folder.remove(name) }
    public func syncNames() throws { try folder.syncNames() }
    public func freeBytes() -> Int? { folder.freeBytes() }
    public var hasStamps: Bool { true }
    public func stamp(_ name: String) -> FileStamp? { folder.stamp(name) }
    public func holds(_ file: any AppendableFile, as name: String) -> Bool {
        (file as? DataFile).map { folder.holds($0, as: name) } ?? true
    }
    public var place: String { folder.path }
}
