// Owns one open file to which lines are added. Invariant: `append` writes all of its bytes
// or, if it throws, none. Before it returns, the system has the bytes, so they survive any
// end of this process.

import Foundation

/// A file that only grows.
struct AppendedFile: ~Copyable {
    /// The size of the file.
    private(set) var bytes: Int
    private let fd: Int32

    /// Opens a file and goes on at its end. A new file is for its owner only.
    init(path: String) throws(LogFailure) {
        let fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard fd >= 0 else { throw LogFailure("\(path) can't be opened") }
        self.fd = fd
        bytes = max(0, Int(lseek(fd, 0, SEEK_END)))
    }

    deinit { close(fd) }

    /// Whether the last line is complete. It isn't if the machine stopped in the middle.
    var endsWithLine: Bool {
        var byte: UInt8 = 0
        return bytes == 0 || pread(fd, &byte, 1, off_t(bytes - 1)) == 1 && byte == 0x0A
    }

    /// Whether it is a file on a disk, not a pipe or a device, which must not be renamed.
    var isRegular: Bool {
        var status = stat()
        return fstat(fd, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    mutating func append(_ line: [UInt8]) throws(LogFailure) {
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(fd, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                let failure = LogFailure("the log can't be written")
                ftruncate(fd, off_t(bytes))
                throw failure
            }
            rest = rest.dropFirst(count)
        }
        bytes += line.count
    }
}

/// The log can't be written, with the system's reason.
struct LogFailure: Error, CustomStringConvertible {
    let description: String

    /// Adds the error of the thread's last failed call.
    init(_ what: String) {
        description = "\(what): \(String(cString: strerror(errno)))"
    }
}
