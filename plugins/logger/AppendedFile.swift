// Owns one open file to which lines are added. Invariant: `append` writes all of its bytes
// or, if it throws, none. Before it returns, the system has the bytes, so they survive any
// end of this process.

import PlugboardMemory
import PlugboardPosix

/// A file that only grows.
struct AppendedFile: ~Copyable {
    /// The size of the file.
    private(set) var bytes: Int
    private let file: DataFile

    /// Opens a file and goes on at its end. A new file is for its owner only.
    init(path: String) throws(LogFailure) {
        do throws(SystemError) {
            file = try DataFile.appending(to: path)
        } catch {
            // It names the user, if it is another one's file.
            throw LogFailure("\(error.subject) can't be opened", error)
        }
        bytes = file.bytes
    }

    /// Whether the last line is complete. It isn't if the machine stopped in the middle.
    var endsWithLine: Bool {
        var last: [UInt8] = [0]
        var room = last.mutableSpan
        let count = bytes == 0 ? 0 : try? file.read(at: bytes - 1, into: &room)
        return bytes == 0 || count == 1 && last == [0x0A]
    }

    /// Whether it is a file on a disk, not a pipe or a device, which must not be renamed.
    var isRegular: Bool { file.isRegular }

    /// Removes bytes from the end.
    mutating func remove(last count: Int) throws(LogFailure) {
        guard ftruncate(file.raw, off_t(bytes - count)) == 0 else {
            throw LogFailure("half a line can't be removed", .last("truncate"))
        }
        bytes -= count
    }

    mutating func append(_ line: [UInt8]) throws(LogFailure) {
        var written = 0
        while written < line.count {
            do throws(SystemError) {
                written += try file.append(line.span[written...])
            } catch {
                _ = ftruncate(file.raw, off_t(bytes))
                throw LogFailure("the log can't be written", error)
            }
        }
        bytes += line.count
    }
}

/// The log can't be written, with the system's reason.
struct LogFailure: Error, CustomStringConvertible {
    let description: String

    init(_ what: String, _ error: SystemError) {
        description = "\(what): \(error.reason)"
    }
}
