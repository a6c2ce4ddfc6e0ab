// A program that a test starts, stops and kills. Its output goes to a file. If a test forgets it, it is
// killed.

import Foundation
import PlugboardPosix
import Synchronization
import TestSupport

final class TestProgram: Sendable {
    private let process = Process()
    private let folder: TemporaryFolder

    init(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        folder = try TemporaryFolder()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = HangGuard.variables.merging(["SWIFT_BACKTRACE": "enable=no"]) { own, _ in own }
            .merging(environment) { _, given in given }
        process.standardInput = FileHandle.nullDevice
        let output = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.write("output", "")))
        process.standardOutput = output
        process.standardError = output
        try process.run()
    }

    deinit { kill() }

    var output: String { folder.text("output") }
    /// Its exit status, once it has ended.
    var status: Int32 { process.terminationStatus }
    var isRunning: Bool { process.isRunning }
    var pid: Int32 { process.processIdentifier }

    func signal(_ number: Int32) { Foundation.kill(process.processIdentifier, number) }

    /// Kills it and waits for its end.
    func kill() {
        guard process.isRunning else { return }
        signal(SIGKILL)
        process.waitUntilExit()
    }

    /// The programs that are built with the tests.
    static func product(_ name: String) -> String {
        URL(fileURLWithPath: ProgramPath.current() ?? CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent(name).path
    }
}
