// Tells which compiler built this program. The compiler only tells whether it is at least
// of some release, not which one it is. The number of Swift's library is another one, and
// may stay the same with a patch.

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
