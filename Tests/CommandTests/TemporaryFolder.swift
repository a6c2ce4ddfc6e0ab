// A folder for one test, with a name short enough for sockets. It is removed afterwards.

import PlugboardPosix

final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/pbXXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError.last("mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        Self.remove(path)
    }

    /// The path of a test's broker.
    var socket: String { path + "/s" }

    /// Writes a file, and makes its folder if it is missing.
    @discardableResult
    func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws -> String {
        try write(name, Array(text.utf8), mode: mode)
    }

    @discardableResult
    func write(_ name: String, _ bytes: [UInt8], mode: mode_t = 0o600) throws -> String {
        let file = path + "/" + name
        if name.contains("/") { makeFolders(to: name) }
        let fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard fd >= 0 else { throw SystemError.last("open", file) }
        defer { close(fd) }
        var written = 0
        while written < bytes.count {
            let transfer = bytes.withUnsafeBytes {
                PipeCalls.write(fd, UnsafeRawBufferPointer(rebasing: $0[written...]))
            }
            guard case .bytes(let count) = transfer else { throw SystemError.last("write", file) }
            written += count
        }
        return file
    }

    /// A shell script that can be run.
    @discardableResult
    func script(_ name: String, _ lines: String) throws -> String {
        try write(name, "#!/bin/sh\n\(lines)\n", mode: 0o700)
    }

    /// A file's text; empty if there is no file.
    func text(_ name: String) -> String {
        let bytes = try? InputFile.contents(path: path + "/" + name, limit: 1 << 28)
        return String(decoding: bytes ?? [], as: UTF8.self)
    }

    func exists(_ name: String) -> Bool {
        FileStatus(path: path + "/" + name).kind != .missing
    }

    private func makeFolders(to name: String) {
        var folder = path
        for part in name.split(separator: "/").dropLast() {
            folder += "/" + part
            mkdir(folder, 0o700)
        }
    }

    private static func remove(_ path: String) {
        if FileStatus(path: path).kind == .folder {
            for name in (try? Folder.names(in: path)) ?? [] { remove(path + "/" + name) }
            rmdir(path)
        } else {
            unlink(path)
        }
    }
}
