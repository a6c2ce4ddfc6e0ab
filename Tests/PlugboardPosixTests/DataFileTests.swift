// Data files on a real disk: appended bytes, and room that is laid out for them.

import PlugboardPosix
import TestSupport
import Testing

@Suite struct DataFileTests {
    @Test func `what is appended takes the place of room that was laid out`() throws {
        let temporary = try TemporaryFolder(named: "pbd")
        let folder = try DataFolder(path: temporary.path)
        let file: DataFile = try folder.create("file")
        try append("one\n", to: file)
        try file.layOut(100)
        #expect(file.bytes == 104)
        try append("two\n", to: file)
        try file.reserve(1_000)
        #expect(file.bytes == 104)
        #expect(try text(of: "file", in: folder) == "one\ntwo\n" + String(repeating: "\n", count: 96))
        try append(String(repeating: "x", count: 97), to: file)
        #expect(file.bytes == 105)
        try file.layOut(10)
        try file.releaseRoom()
        #expect(file.bytes == 105)
        try append("\n", to: file)
        #expect(try text(of: "file", in: folder) == "one\ntwo\n\(String(repeating: "x", count: 97))\n")
    }

    @Test func `room that a program left reserved is given back with the sync of another`() throws {
        let temporary = try TemporaryFolder(named: "pbd")
        let folder = try DataFolder(path: temporary.path)
        let file: DataFile = try folder.create("file")
        try append("one\n", to: file)
        try file.reserve(4_000_000)
        let before = try #require(SystemCalls.status(temporary.path + "/file"))
        try folder.sync("file")
        let after = try #require(SystemCalls.status(temporary.path + "/file"))
        #expect(after.st_blocks <= 64 && after.st_size == before.st_size)
        #expect(before.st_blocks > 7_000)
    }

    @Test func `only a plain file is opened, and a pipe is not waited for`() throws {
        let temporary = try TemporaryFolder(named: "pbd")
        let folder = try DataFolder(path: temporary.path)
        #expect(SystemCalls.makePipe(temporary.path + "/pipe"))
        try Folder.make(temporary.path + "/folder")
        for name in ["pipe", "folder"] {
            #expect(throws: SystemError.self) { _ = try folder.open(name) as DataFile }
        }
    }

    @Test(
        "names are in the order of their bytes, whatever they are made of",
        arguments: [
            ["A", "B", "a", "a-0000000009", "a-0000000010", "a-0000000010.x", "b"],
            // As characters, both spellings of é are the same, and come before ｆ.
            ["a", "e\u{301}", "z", "\u{E9}", "\u{FF46}", "\u{1F600}"],
        ]
    )
    func order(names: [String]) throws {
        let temporary = try TemporaryFolder(named: "pbd")
        let folder = try DataFolder(path: temporary.path)
        for name in names.reversed() { _ = try folder.create(name) as DataFile }
        #expect(try folder.names().map { Array($0.utf8) } == names.map { Array($0.utf8) })
    }

    @Test func `why a folder isn't used is said`() throws {
        let temporary = try TemporaryFolder(named: "pbd")
        func reason() -> String? {
            do {
                _ = try DataFolder(path: temporary.path)
                return nil
            } catch {
                return "\(error)"
            }
        }
        #expect(SystemCalls.setMode(temporary.path, 0o720))
        #expect(reason() == "other users may write to the folder \(temporary.path)")
        #expect(SystemCalls.setMode(temporary.path, 0o700))
        #expect(reason() == nil)
        // Only root can give it away.
        guard SystemCalls.giveAway(temporary.path, to: Stranger.user, group: Stranger.user) else { return }
        let owner = Accounts.name(of: Stranger.user) ?? "\(Stranger.user)"
        #expect(reason() == "the folder \(temporary.path) belongs to another user (\(owner))")
        SystemCalls.giveAway(temporary.path, to: Accounts.ownUser, group: 0)
    }

    @Test func `another user's file, or one behind another user's link, isn't appended to`() throws {
        let temporary = try TemporaryFolder(named: "pbd")
        let (file, link) = (temporary("file"), temporary("link"))
        func reason(_ path: String) -> String? {
            do throws(SystemError) {
                _ = try DataFile.appending(to: path)
                return nil
            } catch {
                return "\(error)"
            }
        }
        try FileCopy.link(at: link, to: "file")
        #expect(reason(link) == nil && reason(file) == nil && reason("/dev/null") == nil)
        // Only root can give it away.
        guard SystemCalls.giveAway(file, to: Stranger.user, group: Stranger.user) else { return }
        let owner = Accounts.name(of: Stranger.user) ?? "\(Stranger.user)"
        #expect(
            reason(file)
                == "append to \(file) (it belongs to another user, \(owner)): Operation not permitted")
        #expect(reason(link) != nil)
        SystemCalls.giveAway(file, to: Accounts.ownUser, group: 0)
        #expect(reason(link) == nil)
        #expect(SystemCalls.giveAway(link, to: Stranger.user, group: Stranger.user))
        #expect(
            reason(link)
                == "append to \(link) (it belongs to another user, \(owner)): Operation not permitted")
        #expect(reason(file) == nil)
    }

    private func append(_ text: String, to file: DataFile) throws {
        #expect(try file.append(Array(text.utf8).span) == text.utf8.count)
    }

    private func text(of name: String, in folder: DataFolder) throws -> String {
        let file: DataFile = try folder.open(name)
        var bytes = [UInt8](repeating: 0, count: 1_000)
        var room = bytes.mutableSpan
        let count = try file.read(at: 0, into: &room)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
