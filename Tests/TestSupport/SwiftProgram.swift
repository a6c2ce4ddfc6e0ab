// Programs that are no products. They are compiled when a test needs them, with the modules
// that were just built. If they were products, `swift run` would offer them to everyone.

import Foundation
import PlugboardPosix
import Testing

/// Compiles programs as the package manager would, in two seconds.
public enum SwiftProgram {
    public struct Refused: Error, CustomStringConvertible {
        public let description: String
    }

    /// The folder of the built programs.
    public static let products: String = {
        let runner = ProgramPath.current().map { SocketPath.folder(of: $0) } ?? ""
        if FileStatus.isRunnable(path: runner + "/plugboard") { return runner }
        // On other systems the runner belongs to the toolchain, and the products are in the
        // package.
        return package + "/.build/debug"
    }()

    public static let package: String = {
        let tests = SocketPath.folder(of: SocketPath.folder(of: #filePath))
        return SocketPath.folder(of: tests)
    }()

    /// Compiles sources, one of which is `main.swift`, into the program at `path`. They may import
    /// the library, and what that imports.
    public static func compile(_ sources: [String], to path: String) throws {
        let modules = ["-I", products + "/Modules", "-I", package + "/Sources/CPlatform"]
        let list = path + ".objects"
        let objects = try libraryObjects().map { "\"\($0)\"" }.joined(separator: "\n")
        try objects.write(toFile: list, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: list) }
        let arguments =
            ["swiftc", "-swift-version", "6", "-warnings-as-errors"] + sanitizer + modules + sources
            + ["@" + list, "-o", path]
        let compiler = try TestProgram.run("/usr/bin/env", arguments)
        guard compiler.status == 0 else { throw Refused(description: compiler.output) }
    }

    /// The objects of the client library: those of a program that links it, without the program's own.
    private static func libraryObjects() throws -> [String] {
        let list = try String(
            contentsOfFile: products + "/cart.product/Objects.LinkFileList", encoding: .utf8
        )
        let own = ["/cart.build/", "/CartPlugin.build/"]
        return list.split(separator: "\n").map(String.init).filter { object in
            !own.contains { object.contains($0) }
        }
    }

    /// The objects were compiled with the same options as this program.
    private static let sanitizer: [String] = {
        for (symbol, name) in [("__asan_init", "address"), ("__tsan_init", "thread")]
        where SystemCalls.hasFunction(symbol) {
            return ["-sanitize=\(name)"]
        }
        return []
    }()
}
