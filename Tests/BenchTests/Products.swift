// The built programs that these tests measure.

import TestSupport

@testable import plugboard_bench

enum Products {
    /// Without the step that ends a server with its bench: these end by themselves.
    static let programs = Programs(folder: SwiftProgram.products, tiesServers: false)
}
