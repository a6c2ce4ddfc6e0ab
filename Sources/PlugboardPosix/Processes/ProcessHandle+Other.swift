// A handle of a child on other systems: its number, which belongs to the child until it is reaped.

#if !os(Linux)
    /// Signals to a child that leads a process group.
    struct ProcessHandle: ~Copyable {
        private let pid: Int32

        /// `pid` is a child that wasn't reaped yet.
        init(child pid: Int32) {
            self.pid = pid
        }

        /// Whether there is more than the number.
        var isExact: Bool { false }

        /// Sends a signal to the child's group.
        func signalGroup(_ number: Int32) {
            kill(-pid, number)
        }

        /// Whether anybody of the child's group still runs. Here the system doesn't count those that have ended.
        var isGroupAlive: Bool { kill(-pid, 0) == 0 }
    }
#endif
