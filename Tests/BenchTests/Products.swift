// The built program that these tests measure.

import PlugboardPosix
import TestSupport

@testable import PlugboardBench

enum Products {
    /// Starts without the step that ends a server with its bench: these end by themselves.
    static let programs = Programs(plugboard: SwiftProgram.products + "/plugboard") { program, arguments in
        ChildStart(program: program, arguments: arguments, output: .piped)
    }
}
