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

/// A program that has the package as its folder.
final class Running {
    private let program: TestProgram

    /// Starts a program: at a path, or one of the built ones.
    init(_ name: String, _ arguments: [String], in scratch: TemporaryFolder) throws {
        var variables = TestProgram.ownVariables().filter { !$0.key.hasPrefix("PLUGBOARD_") }
        variables["XDG_RUNTIME_DIR"] = scratch.path
        variables["XDG_STATE_HOME"] = "\(scratch.path)/state"
        program = try TestProgram(name, arguments, in: Readme.package.path, environment: variables)
    }

    var pid: Int32 { program.pid }

    /// Its output so far, both messages and results.
    var output: String { program.output }

    func kill() { program.kill() }

    func interrupt() { program.signal(SIGINT) }

    /// Its exit status, when it has ended.
    func status() async throws -> Int32? { try await program.end() }

    /// Where the built programs are.
    static let folder = URL(fileURLWithPath: SwiftProgram.products)
}
