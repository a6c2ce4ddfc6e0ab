// The allocations of a program, recorded by glibc itself. glibc's debugging library must be loaded
// before the program begins, so the environment of a child says whether to trace it. The child
// begins and ends the trace itself.

#if canImport(Glibc)
    import Glibc

    /// Tracing of `malloc` and its like, for measurements.
    public enum AllocationTrace {
        /// A part of the debugging library's name.
        public static let library = "libc_malloc_debug"

        /// Variables for a child that should trace its allocations into the file `log`.
        public static func environment(log: String) -> [String] {
            ["LD_PRELOAD=\(library).so.0", "MALLOC_TRACE=\(log)"]
        }

        /// Traces this process's allocations from here on, if its environment says where to.
        /// Says so by the mode of the file, for `hasBegun`: the file is there a moment earlier, and a name
        /// for another would be an allocation. From any thread.
        public static func start() {
            mtrace()
            if let log = getenv("MALLOC_TRACE") { chmod(log, begunMode) }
        }

        /// Whether a process writes down each allocation by now.
        public static func hasBegun(log: String) -> Bool {
            var status = stat()
            return stat(log, &status) == 0 && status.st_mode & 0o777 == begunMode
        }

        private static let begunMode: mode_t = 0o400

        /// Ends the trace; its file is complete then.
        public static func stop() {
            muntrace()
        }
    }
#endif
