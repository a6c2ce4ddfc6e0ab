// Which program opens a page on this system's desktop: the one of the freedesktop tools. Elsewhere, such as in
// a terminal at another machine, a page is opened only by whoever sees its address.

#if os(Linux)
    import PlugboardPosix

    /// The desktop's own program for opening pages.
    enum PageOpener {
        /// Its path, where there is a desktop.
        static func program() -> String? {
            let displays = ["DISPLAY", "WAYLAND_DISPLAY"]
            guard displays.contains(where: { SocketPath.variable($0)?.isEmpty == false }) else { return nil }
            return try? ProgramSearch.path(of: "xdg-open")
        }
    }
#endif
