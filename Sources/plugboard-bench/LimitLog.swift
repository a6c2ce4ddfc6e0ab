// The file of the limit, where writes are durable: the least that any broker has to do before it answers.

import PlugboardPosix

/// A file with room that is laid out ahead, so that a sync only has to bring data to the disk. Only one thread
/// uses it.
final class LimitLog {
    private static let roomBytes = 268_435_456
    private let file: DataFile
    /// How much of the room is left.
    private var room = 0

    /// Makes the file in a folder. Throws `SystemError`.
    init(folder: String) throws {
        file = try DataFolder(path: folder).create("log")
        try layOut()
    }

    /// Returns when the bytes are on disk.
    func keep(_ bytes: Span<UInt8>) throws {
        if bytes.count > room { try layOut() }
        var done = 0
        while done < bytes.count { done += try file.append(bytes[done...]) }
        room -= bytes.count
        try file.sync()
    }

    private func layOut() throws {
        try file.layOut(Self.roomBytes)
        try file.sync()
        room = Self.roomBytes
    }
}
