// Programs as a reader of the README starts them. Each has a temporary folder that is also
// its runtime folder, so that the user's own bus isn't touched.

import Foundation
import PlugboardPosix
import TestSupport

extension TemporaryFolder {
    var url: URL { URL(fileURLWithPath: path) }
    /// Where a bus is that has this folder as its runtime folder.
    var busSocket: String { self("plugboard/bus.sock") }
}

/// A program whose output goes to a file.
final class Running {
    let process = Process()
    private let file: URL
    private let scratch: TemporaryFolder

    /// Starts one of the built programs.
    convenience init(built name: String, _ arguments: [String], in scratch: TemporaryFolder) throws {
        try self.init(Running.folder.appendingPathComponent(name), arguments, in: scratch)
    }

    init(_ program: URL, _ arguments: [String], in scratch: TemporaryFolder, input: FileHandle? = nil) throws
    {
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
    func status() async throws -> Int32 {
        try await eventually("the end of \(process.arguments ?? [])") {
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
        environment.merge(HangGuard.variables) { _, own in own }
        return environment
    }
}
