/// Processes that this one got when their parents ended: as process 1 of a container, or as a subreaper.
public enum Orphans {
    /// Reaps those that have ended. Who has ended and is this process's own is left to whoever started it,
    /// and ends the search: its end brings a SIGCHLD of its own.
    public static func reap(except isOwn: (Int32) -> Bool) {
        while let pid = SpawnCalls.endedChild(), !isOwn(pid) { SpawnCalls.reap(pid) }
    }
}

/// The process that started this one. Any thread.
public struct ParentProcess: Sendable {
    private let number: Int32

    public init() {
        number = getppid()
    }

    /// It has ended; this process now belongs to another one, which knows nothing of it.
    public var isGone: Bool { getppid() != number }
}
