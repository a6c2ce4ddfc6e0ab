// A test's own folder, which is removed afterwards. Its name is short enough for sockets.

import PlugboardMemory
import PlugboardPosix

extension TemporaryFolder {
    public convenience init() throws {
        try self.init(named: "pb")
    }

    /// The path of the socket of a test's broker.
    public var socket: String { path + "/s" }

    public func callAsFunction(_ name: String) -> String { path + "/" + name }

    /// Writes a file. Makes its folder if it is missing.
    @discardableResult
    public func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws -> String {
        try write(name, Array(text.utf8), mode: mode)
    }

    @discardableResult
    public func write(_ name: String, _ bytes: [UInt8], mode: mode_t = 0o600) throws -> String {
        let file = path + "/" + name
        if name.contains("/") { try Folder.make(SocketPath.folder(of: file)) }
        let fd = SystemCalls.open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard fd >= 0 else { throw SystemError.last("open", file) }
        defer { close(fd) }
        var written = 0
        while written < bytes.count {
            guard case .bytes(let count) = PipeCalls.write(fd, bytes.span[written...]) else {
                throw SystemError.last("write", file)
            }
            written += count
        }
        return file
    }

    /// Writes a shell script that can be run.
    @discardableResult
    public func script(_ name: String, _ lines: String) throws -> String {
        try write(name, "#!/bin/sh\n\(lines)\n", mode: 0o700)
    }

    /// A file's text; empty if there is no file.
    public func text(_ name: String) -> String {
        let bytes = try? InputFile.contents(path: path + "/" + name, limit: 1 << 28)
        return String(decoding: bytes ?? [], as: UTF8.self)
    }

    public func names() throws -> [String] { try Folder.names(in: path).sorted() }

    public func exists(_ name: String) -> Bool {
        FileStatus(path: path + "/" + name).kind != .missing
    }

    /// The permission bits of a path; nil if nothing is there.
    public static func mode(_ path: String) -> mode_t? { SystemCalls.mode(path) }
}
