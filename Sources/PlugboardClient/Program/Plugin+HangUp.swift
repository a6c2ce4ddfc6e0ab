// What a plugin's own code hears of signals: SIGHUP, by which who moves a program's files away asks it to open
// them again, as logrotate does, and whether the plugin is to end.

extension Plugin {
    /// Calls `handler` for each SIGHUP from now on, on a thread that does nothing else. Without a handler, SIGHUP
    /// ends the process. If it is ignored, as under `nohup`, it stays so.
    ///
    /// ```swift
    /// Plugin.onHangUp { log.withLock { $0.reopen() } }
    /// ```
    public static func onHangUp(_ handler: @escaping @Sendable () -> Void) {
        StopSignals.shared.addForHangUp(handler)
    }

    /// Whether SIGTERM or SIGINT has come. A loop that waits for something else than the bus, such as room on a
    /// disk, looks here whether to give up.
    public static var isAskedToEnd: Bool { StopSignals.shared.hasCome }
}
