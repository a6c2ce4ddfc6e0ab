// A log of limited size. The current file has the name `path`, and older files
// are beside it: `path.1` is the newest of those. Invariant: every line is
// complete in one file. The last one may not be, if the process was killed; the
// next logger removes it. Somebody else may rotate the file instead: then it is
// opened again.

import PlugboardClient
import PlugboardPosix

/// Lines in a file that is rotated when it is full.
struct LogFile: ~Copyable {
    /// The path as it was given. A symbolic link there is followed.
    private let given: String
    /// The file itself. Only that is renamed, never a link to it.
    private var path: String
    private let bytesMax: Int
    private let keep: Int
    private var current: AppendedFile
    /// The size at which to rotate. It is more than `bytesMax` after a failed rotation, and out of
    /// reach if this file can't be rotated.
    private var limit: Int
    /// Why the log isn't as it should be; nil if it is.
    var trouble: String? { writeTrouble ?? moveTrouble }
    /// Why nothing can be written now, for example because the disk is full.
    private var writeTrouble: String?
    /// Why the file isn't rotated, or wasn't opened again.
    private var moveTrouble: String?

    /// Opens the log or begins one. It keeps `keep` files of `bytesMax` bytes beside the current
    /// one.
    init(path: String, bytesMax: Int, keep: Int) throws(LogFailure) {
        (given, self.bytesMax, self.keep) = (path, bytesMax, keep)
        current = try Self.open(path)
        limit = current.isRegular ? bytesMax : Int.max
        self.path = FileCopy.place(behind: path)
    }

    private static func open(_ path: String) throws(LogFailure) -> AppendedFile {
        var file = try AppendedFile(path: path)
        if file.isRegular, !file.endsWithLine { try mend(&file, path) }
        return file
    }

    /// Opens the file at the path once more, because somebody has moved the present one away. If that fails, the
    /// log goes on in the present one.
    mutating func reopen() {
        do throws(LogFailure) {
            current = try Self.open(given)
            limit = current.isRegular ? bytesMax : Int.max
            path = FileCopy.place(behind: given)
            moveTrouble = nil
            Console.say("writing to \(given) again")
        } catch {
            moveTrouble = "not opened again: \(error)"
            warn()
        }
    }

    private func warn() {
        if let trouble { Console.warn(trouble) }
    }

    /// The files in which the newest lines are, the newest first. A pipe has none.
    var newestFiles: [String] { current.isRegular ? [path, name(1)] : [] }

    /// Removes half a line of a logger, because its event comes again. Anything else only gets an end.
    private static func mend(_ file: inout AppendedFile, _ path: String) throws(LogFailure) {
        // A file that can't be read now can still be written.
        let unfinished = try? LinesFromEnd(path: path)?.unfinished
        if let unfinished, zip(unfinished, LogLine.beginning).allSatisfy({ $0 == $1 }) {
            try file.remove(last: unfinished.count)
        } else {
            try file.append([0x0A])
        }
    }

    /// Writes a line. If the file would get too large, it rotates first. A line that is too large
    /// by itself gets a file of its own. If it can't be written now, that is the trouble until a line can:
    /// the disk may have room later, or somebody may move the file away.
    mutating func append(_ line: JSON) throws(LogFailure) {
        let bytes = line.bytes + [0x0A]
        if current.bytes > 0, current.bytes + bytes.count > limit { rotate() }
        do throws(LogFailure) {
            try current.append(bytes)
        } catch {
            let isNews = writeTrouble == nil
            writeTrouble = "\(error); trying again each second"
            if isNews { warn() }
            throw error
        }
        if writeTrouble != nil { Console.say("the log is written again") }
        writeTrouble = nil
    }

    /// Rotates the files. If that fails, the log goes on in its present file: too large is better
    /// than lost.
    private mutating func rotate() {
        do throws(LogFailure) {
            try moveFiles()
            limit = bytesMax
            moveTrouble = nil
        } catch {
            moveTrouble = "no rotation: \(error)"
            warn()
            limit = current.bytes + min(bytesMax, 1_048_576)
        }
    }

    private mutating func moveFiles() throws(LogFailure) {
        for number in stride(from: keep, through: 2, by: -1) {
            try move(name(number - 1), to: name(number), mayBeMissing: true)
        }
        try move(path, to: name(1))
        do throws(LogFailure) {
            current = try AppendedFile(path: path)
        } catch {
            // The error of the new file is thrown even if renaming the old one back fails, too: it matters
            // more.
            try? move(name(1), to: path)
            throw error
        }
    }

    private func move(_ from: String, to: String, mayBeMissing: Bool = false) throws(LogFailure) {
        do throws(SystemError) {
            try FileCopy.move(from, to: to)
        } catch {
            if mayBeMissing, error.code == ENOENT { return }
            throw LogFailure("\(from) can't be renamed", error)
        }
    }

    private func name(_ number: Int) -> String { "\(path).\(number)" }
}
