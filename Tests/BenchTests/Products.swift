// The built program that these tests measure, found from the test program itself.

import PlugboardPosix

@testable import PlugboardBench

enum Products {
    private static let folder: String = {
        let runner = ProgramPath.current().map { SocketPath.folder(of: $0) } ?? ""
        if FileStatus.isRunnable(path: runner + "/plugboard") { return runner }
        // Elsewhere the runner is the toolchain's own; the products lie in the package.
        let tests = SocketPath.folder(of: #filePath)
        return SocketPath.folder(of: SocketPath.folder(of: tests)) + "/.build/debug"
    }()

    /// Starts without the step that ends a server with its bench: these end by themselves.
    static let programs = Programs(plugboard: folder + "/plugboard") { program, arguments in
        ChildStart(program: program, arguments: arguments, output: .piped)
    }
}
