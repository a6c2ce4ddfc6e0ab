// A person who types into `nc -U`, or into the socket itself if nc is not installed.

import Foundation
import PlugboardPosix
import TestSupport

/// One connected person.
final class Typist {
    private let output: FileHandle
    private let input: FileHandle
    private let process: Process?
    private var pending: [UInt8] = []

    /// An `nc` that knows Unix sockets; not every one does.
    static let nc: URL? = {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let programs = path.split(separator: ":").map { "\($0)/nc" }
        guard let nc = programs.first(where: FileManager.default.isExecutableFile) else { return nil }
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: nc)
        process.arguments = ["-h"]
        process.standardOutput = output
        process.standardError = output
        guard (try? process.run()) != nil, let help = try? output.fileHandleForReading.readToEnd() else {
            return nil
        }
        process.waitUntilExit()
        return String(decoding: help, as: UTF8.self).contains("-U") ? process.executableURL : nil
    }()

    init(socket: String) throws {
        guard let nc = Self.nc else {
            let connection = try UnixSocket.connect(path: socket)
            let copy = withExtendedLifetime(connection) { dup(connection.raw) }
            guard copy >= 0 else { throw SystemError.last("dup") }
            input = FileHandle(fileDescriptor: copy, closeOnDealloc: true)
            output = input
            process = nil
            return
        }
        let (toNc, fromNc, process) = (Pipe(), Pipe(), Process())
        process.executableURL = nc
        process.arguments = ["-U", socket]
        process.standardInput = toNc
        process.standardOutput = fromNc
        try process.run()
        (input, output) = (toNc.fileHandleForWriting, fromNc.fileHandleForReading)
        self.process = process
    }

    deinit {
        if let process, process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    func type(_ line: String) throws {
        try input.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// The next line that arrives.
    func line() async throws -> String {
        try await eventually("a line from the broker") {
            if !pending.contains(0x0A) { try receive() }
            return pending.contains(0x0A)
        }
        let line = pending.prefix { $0 != 0x0A }
        pending.removeFirst(line.count + 1)
        return String(decoding: line, as: UTF8.self)
    }

    private func receive() throws {
        guard PipeCalls.isReadable(output.fileDescriptor) else { return }
        let (transfer, bytes) = PipeCalls.read(output.fileDescriptor, upTo: 65_536)
        guard case .bytes = transfer else { throw Missing("a line: the broker closed") }
        pending += bytes
    }
}
