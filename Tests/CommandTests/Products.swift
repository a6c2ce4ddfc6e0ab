// The built programs that these tests run.

import PlugboardPosix
import TestSupport
import Testing

enum Products {
    /// The folder with the built executables.
    static let folder = SwiftProgram.products

    static let plugboard = folder + "/plugboard"

    /// A copy of the program in a file of its own. Another process writes it: a program can't be run while somebody
    /// may write to it, and each process that starts meanwhile has this process's open files for a moment.
    static func copyPlugboard(to folder: TemporaryFolder, _ name: String) throws -> String {
        let path = "\(folder.path)/\(name)"
        #expect(try Run(program: "/bin/cp", [plugboard, path], in: folder).finished().end == .exited(0))
        return path
    }
}
