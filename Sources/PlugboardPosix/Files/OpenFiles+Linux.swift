// How many descriptors this process and its children may have, on Linux.

#if os(Linux)
    /// The limit on open files.
    public enum OpenFiles {
        /// Raises the limit as far as the system lets this user, and returns it.
        public static func raiseLimit() -> Int {
            var limit = rlimit()
            guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
            return Int(clamping: limit.rlim_cur)
        }
    }
#endif
