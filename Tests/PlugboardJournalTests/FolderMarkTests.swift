import PlugboardJournal
import PlugboardMemory
import PlugboardPosix
import TestSupport
import Testing

@Suite("The mark of a state folder")
struct FolderMarkTests {
    /// A folder as an earlier version of this program wrote it: without a mark.
    private final class UnmarkedStore: FileStore {
        private let disk: any FileStore

        init(_ disk: any FileStore) { self.disk = disk }

        func names() throws -> [String] { try disk.names() }
        func open(_ name: String) throws -> any ReadableFile { try disk.open(name) }
        func sync(_ name: String) throws { try disk.sync(name) }
        func create(_ name: String) throws -> any AppendableFile { try disk.create(name) }
        func truncate(_ name: String, to bytes: Int) throws { try disk.truncate(name, to: bytes) }
        func rename(_ name: String, to other: String) throws { try disk.rename(name, to: other) }
        func remove(_ name: String) throws { try disk.remove(name) }
        func syncNames() throws { try disk.syncNames() }
    }

    private struct Opened: Equatable {
        let epoch: String
        var mayBeCopy = false
    }

    private let folder: TemporaryFolder
    private let disk: any FileStore

    init() throws {
        folder = try TemporaryFolder()
        disk = try DataFolder(path: folder("state"))
    }

    /// Opens the journal, and closes it again.
    private func open(_ store: any FileStore, _ epoch: String, isGoingOn: Bool = false) throws -> Opened {
        var records = RecordBuffer(clock: { 1 })
        var options = JournalOptions(sync: .interval)
        options.isGoingOn = isGoingOn
        let (recovered, writer, given) = try Journal.open(
            store,
            worker: ImmediateWorker(store),
            options: options,
            boot: "boot",
            newEpoch: { epoch },
            records: &records
        ) { _, _ in }
        try writer.close(&records, revision: recovered.revision)
        return Opened(epoch: given, mayBeCopy: recovered.mayBeCopy)
    }

    private func marks() throws -> [String] { try disk.names().filter { $0.hasPrefix("mark-") } }

    @Test("each broker makes one, and removes the one before")
    func one() throws {
        #expect(try open(disk, "a") == Opened(epoch: "a"))
        #expect(try marks() == ["mark-0000000001"])
        #expect(try open(disk, "b") == Opened(epoch: "a"))
        #expect(try marks() == ["mark-0000000002"])
    }

    @Test("a journal of an earlier version opens, with a new epoch once")
    func earlierVersion() throws {
        let unmarked = UnmarkedStore(disk)
        #expect(try open(unmarked, "a") == Opened(epoch: "a"))
        #expect(try open(unmarked, "b") == Opened(epoch: "a"))
        #expect(try marks() == [])
        #expect(try open(disk, "c") == Opened(epoch: "c", mayBeCopy: true))
        #expect(try open(disk, "d") == Opened(epoch: "c"))
    }

    @Test("a program that takes the lock over from the one before needs none")
    func goingOn() throws {
        #expect(try open(UnmarkedStore(disk), "a") == Opened(epoch: "a"))
        #expect(try open(disk, "b", isGoingOn: true) == Opened(epoch: "a"))
        #expect(try open(disk, "c") == Opened(epoch: "a"))
    }

    @Test("that is gone, or was written again, shows a copy")
    func gone() throws {
        _ = try open(disk, "a")
        try Journal.removeMarks(disk)
        #expect(try open(disk, "b") == Opened(epoch: "b", mayBeCopy: true))
        let mark = try #require(try marks().first)
        try disk.remove(mark)
        _ = try disk.create(mark)
        #expect(try Journal.check(disk) { _, _ in }.mayBeCopy)
        #expect(try open(disk, "c") == Opened(epoch: "c", mayBeCopy: true))
    }

    @Test("a segment that was copied shows a copy, even if the mark is there")
    func copiedSegment() throws {
        _ = try open(disk, "a")
        let name = "segment-0000000001.jsonl"
        let bytes = try InputFile.contents(path: folder("state/\(name)"), limit: 1 << 20)
        try folder.write("state/copy", bytes)
        try disk.rename("copy", to: name)
        #expect(try open(disk, "b") == Opened(epoch: "b", mayBeCopy: true))
    }
}
