// A log of bounded size: the file that is being written, and the older ones beside it,
// `path.1` the newest of them. What always holds: a line is in one file, whole.

import Foundation
import PlugboardClient

/// Lines in a file that is put aside when it is full.
struct LogFile: ~Copyable {
    private let path: String
    private let bytesMax: Int
    private let keep: Int
    private var current: AppendedFile
    /// The size at which to rotate; more than `bytesMax` after that failed, and past reach
    /// where there is nothing to rotate.
    private var limit: Int

    /// Opens the log or begins one. It keeps `keep` files of `bytesMax` beside the current.
    init(path: String, bytesMax: Int, keep: Int) throws(LogFailure) {
        self.path = path
        self.bytesMax = bytesMax
        self.keep = keep
        limit = bytesMax
        var file = try AppendedFile(path: path)
        let isRegular = file.isRegular
        if isRegular, !file.endsWithLine { try file.append([0x0A]) }
        if !isRegular { limit = Int.max }
        current = file
    }

    /// Writes a line. Begins a new file before it where this one would get too large; a
    /// line that is larger than that by itself has a file of its own.
    mutating func append(_ line: JSON) throws(LogFailure) {
        let bytes = line.bytes + [0x0A]
        if current.bytes > 0, current.bytes + bytes.count > limit { rotate() }
        try current.append(bytes)
    }

    /// Puts the file aside. Where that fails, the log goes on in the file it has: too large
    /// is better than lost.
    private mutating func rotate() {
        do throws(LogFailure) {
            try moveFiles()
            limit = bytesMax
        } catch {
            Console.warn("no rotation: \(error)")
            limit = current.bytes + min(bytesMax, 1_048_576)
        }
    }

    private mutating func moveFiles() throws(LogFailure) {
        for number in stride(from: keep, through: 2, by: -1) {
            let moved = rename(name(number - 1), name(number)) == 0 || errno == ENOENT
            guard moved else { throw LogFailure("\(name(number - 1)) can't be renamed") }
        }
        guard rename(path, name(1)) == 0 else { throw LogFailure("\(path) can't be renamed") }
        do throws(LogFailure) {
            current = try AppendedFile(path: path)
        } catch {
            rename(name(1), path)
            throw error
        }
    }

    private func name(_ number: Int) -> String { "\(path).\(number)" }
}
