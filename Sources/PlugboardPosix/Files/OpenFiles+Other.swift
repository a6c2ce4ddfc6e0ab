// How many descriptors this process and its children may have, elsewhere.

#if !os(Linux)
    /// The limit on open files.
    public enum OpenFiles {
        /// Raises the limit as far as the system lets this user, and returns it.
        public static func raiseLimit() -> Int {
            var limit = rlimit()
            guard getrlimit(RLIMIT_NOFILE, &limit) == 0 else { return 0 }
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(RLIMIT_NOFILE, &raised) == 0 { limit = raised }
            return Int(clamping: limit.rlim_cur)
        }
    }
#endif
