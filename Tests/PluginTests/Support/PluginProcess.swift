// A plugin as a process of its own: started, listened to, stopped. If a test forgets it, it
// is killed.

import Foundation
import PlugboardPosix
import Synchronization
import TestSupport

/// A running plugin.
final class PluginProcess: Sendable {
    /// Its standard output so far.
    var output: String { heard.output.text }
    /// Its standard error so far.
    var errors: String { heard.errors.text }
    /// Its exit status, when it has ended and all its output is here. Negative if a signal ended
    /// it.
    var status: Int32? { heard.end.withLock { $0 } }

    private let process = Process()
    private let input: FileHandle?
    private let heard = Heard()

    /// - Parameters:
    ///   - output: where standard output goes; by default into `output`.
    ///   - isOutputShut: starts it with no standard output at all, as `>&-` does in a shell,
    ///     nor with an input it has no use for.
    init(
        _ plugin: String,
        _ arguments: [String],
        folder: String,
        environment: [String: String] = [:],
        hasInput: Bool = false,
        output: FileHandle? = nil,
        isOutputShut: Bool = false
    ) throws {
        let inputPipe = hasInput ? Pipe() : nil
        input = inputPipe?.fileHandleForWriting
        let program = Self.products.appendingPathComponent(plugin)
        process.executableURL = isOutputShut ? URL(fileURLWithPath: "/bin/sh") : program
        let shutting = ["-c", #"exec "$0" "$@" >&-"# + (hasInput ? "" : " <&-"), program.path]
        process.arguments = (isOutputShut ? shutting : []) + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.environment = HangGuard.variables.merging(["SWIFT_BACKTRACE": "enable=no"]) { own, _ in own }
            .merging(environment) { _, given in given }
        process.standardInput = inputPipe ?? FileHandle.nullDevice
        let (out, errors) = (Pipe(), Pipe())
        process.standardOutput = output ?? out
        process.standardError = errors
        try process.run()
        let ends = DispatchGroup()
        if output == nil { heard.output.read(out, ends) }
        heard.errors.read(errors, ends)
        heard.waitForEnd(process, ends)
    }

    deinit {
        if status == nil { signal(SIGKILL) }
    }

    /// Writes to its standard input.
    func write(_ text: String) throws { try input?.write(contentsOf: Data(text.utf8)) }

    func closeInput() throws { try input?.close() }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits for its end. Returns its status.
    func end() async throws -> Int32? {
        try await eventually("the plugin ends") { status != nil }
        return status
    }

    /// Asks it to end. Returns its status.
    @discardableResult
    func stop(_ number: Int32 = SIGTERM) async throws -> Int32? {
        signal(number)
        return try await end()
    }

    /// The folder in which SwiftPM puts the plugins: that of the tests.
    private static let products = URL(fileURLWithPath: ProgramPath.current() ?? CommandLine.arguments[0])
        .deletingLastPathComponent()
}

/// What is known of a process. The threads that listen to it keep it alive.
private final class Heard: Sendable {
    let output = Transcript()
    let errors = Transcript()
    let end = Mutex<Int32?>(nil)

    func waitForEnd(_ process: Process, _ ends: DispatchGroup) {
        Thread.detachNewThread { [self] in
            ends.wait()
            process.waitUntilExit()
            let number = process.terminationStatus
            end.withLock { $0 = process.terminationReason == .exit ? number : -number }
        }
    }
}

/// What came through a pipe.
private final class Transcript: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }

    func read(_ pipe: Pipe, _ ends: DispatchGroup) {
        ends.enter()
        let file = pipe.fileHandleForReading
        Thread.detachNewThread { [self] in
            while true {
                let next = file.availableData
                if next.isEmpty { break }
                bytes.withLock { $0 += next }
            }
            ends.leave()
        }
    }
}
