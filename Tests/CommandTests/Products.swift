// The built programs that these tests run, found from the test program itself.

import PlugboardPosix

@testable import plugboard

enum Products {
    /// The folder with the built executables.
    static let folder: String = {
        let runner = ProgramPath.current().map { SocketPath.folder(of: $0) } ?? ""
        if FileStatus.isRunnable(path: runner + "/plugboard") { return runner }
        // Elsewhere the runner is the toolchain's own; the products lie in the package.
        let tests = SocketPath.folder(of: #filePath)
        return SocketPath.folder(of: SocketPath.folder(of: tests)) + "/.build/debug"
    }()

    static let plugboard = folder + "/plugboard"
}
