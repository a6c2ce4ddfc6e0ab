// A folder for one test, with a short name, because a socket's path has little room.

import PlugboardPosix

final class PosixFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/pbp-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError.last("mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { Self.remove(path) }

    func callAsFunction(_ name: String) -> String { path + "/" + name }

    /// The permission bits of a path; nil if there is nothing.
    static func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    static func write(_ text: String, to path: String) throws {
        let fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode_t(0o600))
        guard fd >= 0 else { throw SystemError.last("open", path) }
        let descriptor = Descriptor(adopting: fd)
        let bytes = Array(text.utf8)
        guard PlugboardPosix.write(descriptor.raw, bytes, bytes.count) == bytes.count else {
            throw SystemError.last("write", path)
        }
    }

    private static func remove(_ path: String) {
        if let names = try? Folder.names(in: path) {
            for name in names { remove(path + "/" + name) }
        }
        unlink(path)
        rmdir(path)
    }
}
