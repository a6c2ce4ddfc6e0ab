// Programs as a reader of the README starts them. Each has a temporary folder that is also
// its runtime folder, so that the user's own bus isn't touched.

import Foundation
import PlugboardPosix
import TestSupport

/// A folder for one test, with a name short enough for sockets.
final class Scratch {
    let url: URL
    var socket: String { url.appendingPathComponent("plugboard/bus.sock").path }

    init() throws {
        let name = "pb-" + String(UInt32.random(in: .min ... .max), radix: 36)
        url = URL(fileURLWithPath: "/tmp").appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: url,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func write(_ path: String, _ text: String) throws {
        let file = url.appendingPathComponent(path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try Data(text.utf8).write(to: file)
    }
}

/// A program whose output goes to a file.
final class Running {
    let process = Process()
    private let file: URL
    private let scratch: Scratch

    /// Starts one of the built programs.
    convenience init(built name: String, _ arguments: [String], in scratch: Scratch) throws {
        try self.init(Running.folder.appendingPathComponent(name), arguments, in: scratch)
    }

    init(_ program: URL, _ arguments: [String], in scratch: Scratch, input: FileHandle? = nil) throws {
        self.scratch = scratch
        file = scratch.url.appendingPathComponent(
            "output-" + String(UInt32.random(in: .min ... .max), radix: 36)
        )
        try Data().write(to: file)
        process.executableURL = program
        process.arguments = arguments
        process.environment = Self.environment(runtimeFolder: scratch.url.path)
        process.currentDirectoryURL = Readme.package
        process.standardInput = input ?? FileHandle.nullDevice
        let output = try FileHandle(forWritingTo: file)
        process.standardOutput = output
        process.standardError = output
        try process.run()
    }

    deinit {
        end()
    }

    /// Ends it for sure: the threads of tasks block signals, and their children inherit that.
    func end() {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Its output so far, both messages and results.
    var output: String {
        get throws { String(decoding: try Data(contentsOf: file), as: UTF8.self) }
    }

    func interrupt() {
        kill(process.processIdentifier, SIGINT)
    }

    /// Its exit status. Throws if it still runs.
    func status(seconds: Double = 120) async throws -> Int32 {
        try await eventually("the end of \(process.arguments ?? [])", seconds: seconds) {
            !self.process.isRunning
        }
        return process.terminationReason == .exit
            ? process.terminationStatus : 128 + process.terminationStatus
    }

    /// Where the built programs are.
    static let folder = URL(fileURLWithPath: SwiftProgram.products)

    private static func environment(runtimeFolder: String) -> [String: String] {
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("PLUGBOARD_") }
        environment["XDG_RUNTIME_DIR"] = runtimeFolder
        environment["XDG_STATE_HOME"] = "\(runtimeFolder)/state"
        environment["SWIFT_BACKTRACE"] = "enable=no"
        return environment
    }
}

/// Waits until a condition holds, and throws if it never does. The thread is free
/// meanwhile, because on two processors all tests share two threads.
func eventually(_ what: String, seconds: Double = 120, _ condition: () throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try !condition() {
        guard ContinuousClock.now < end else { throw Missing("\(what), within \(seconds) s") }
        try await Task.sleep(for: .milliseconds(10))
    }
}
