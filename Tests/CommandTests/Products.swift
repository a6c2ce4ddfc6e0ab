// The built programs that these tests run.

import TestSupport

enum Products {
    /// The folder with the built executables.
    static let folder = SwiftProgram.products

    static let plugboard = folder + "/plugboard"
}
