// The same for macOS, whose desktop is always there. Not yet tried on a Mac.

#if !os(Linux)
    /// The desktop's own program for opening pages.
    enum PageOpener {
        static func program() -> String? { try? ProgramSearch.path(of: "/usr/bin/open") }
    }
#endif
