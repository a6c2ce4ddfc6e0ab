// What the disk itself takes: no journal whose records reach the disk can be faster for long.

import PlugboardPosix

/// The speed of the disk for files like those of a journal: new ones, each synced when it is full.
enum DiskSpeed {
    /// The size of a busy journal's segment.
    private static let fileBytes = 16_777_216
    /// About what a busy turn writes.
    private static let pieceBytes = 65_536
    /// One writes while the other one waits for the disk.
    private static let writers = 2

    /// How many bytes a second were on disk, in about so many seconds. Throws `SystemError`.
    static func bytesPerSecond(for seconds: Double) throws -> Double {
        let folder = try TemporaryFolder(named: "pb", isOnDisk: true)
        let start = MonotonicClock.nanoseconds()
        let end = start + UInt64(seconds * 1e9)
        let results = try (0..<writers).map { number in
            let files = try DataFolder(path: folder.path)
            let result = Shared<Result<Int, any Error>?>(nil)
            try Background.start {
                result.set(Result { try write(files, "file-\(number)", until: end) })
            }
            return result
        }
        var bytes = 0
        for result in results {
            while result.get() == nil { Pause.sleep(seconds: 0.001) }
            bytes += try result.get()?.get() ?? 0
        }
        return Double(bytes) * 1e9 / Double(MonotonicClock.nanoseconds() - start)
    }

    /// Writes one file after the other, at least one. Returns how many bytes are on disk.
    private static func write(_ folder: DataFolder, _ name: String, until end: UInt64) throws -> Int {
        let piece = [UInt8](repeating: UInt8(ascii: "p"), count: pieceBytes)
        var bytes = 0
        repeat {
            let file: DataFile = try folder.create(name)
            _ = try file.reserve(fileBytes)
            var count = 0
            while count < fileBytes { count += try file.append(piece.span) }
            try file.sync()
            try folder.remove(name)
            bytes += count
        } while MonotonicClock.nanoseconds() < end
        return bytes
    }
}
