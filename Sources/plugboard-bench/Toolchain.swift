// Tells which compiler built this program. A program can only ask whether the compiler has at least some
// release. The version of Swift's library is another number, which may stay the same in a patch release.

/// The compiler's release.
enum Toolchain {
    #if compiler(>=6.4)
        static let version = "6.4 or newer"
    #elseif compiler(>=6.3.4)
        static let version = "6.3.4 or newer"
    #elseif compiler(>=6.3.3)
        static let version = "6.3.3"
    #elseif compiler(>=6.3.2)
        static let version = "6.3.2"
    #elseif compiler(>=6.3.1)
        static let version = "6.3.1"
    #elseif compiler(>=6.3)
        static let version = "6.3"
    #elseif compiler(>=6.2.5)
        static let version = "6.2.5 or newer"
    #elseif compiler(>=6.2.4)
        static let version = "6.2.4"
    #elseif compiler(>=6.2.3)
        static let version = "6.2.3"
    #elseif compiler(>=6.2.2)
        static let version = "6.2.2"
    #elseif compiler(>=6.2.1)
        static let version = "6.2.1"
    #else
        static let version = "6.2"
    #endif
}
