// The built programs that these tests measure.

import TestSupport

@testable import plugboard_bench

enum Products {
    /// Without the step that ends a server together with its bench: these servers end by
    /// themselves.
    static let programs = Programs(folder: SwiftProgram.products, tiesServers: false)
}
