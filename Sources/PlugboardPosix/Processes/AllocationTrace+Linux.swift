// The allocations of a program, recorded by glibc itself. glibc's debugging library must be loaded
// before the program begins, so the environment of a child says whether to trace it. The child
// begins and ends the trace itself.
//
// Why its pointers are safe: `getenv` lends a text that ends with NUL, and nobody changes the
// variable before `chmod` has read it.

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
            if let log = unsafe getenv("MALLOC_TRACE") { unsafe chmod(log, begunMode) }
        }

        /// Whether a process writes down each allocation by now.
        public static func hasBegun(log: String) -> Bool {
            PathCalls.status(log).map { $0.st_mode & 0o777 == begunMode } ?? false
        }

        private static let begunMode: mode_t = 0o400

        /// Ends the trace; its file is complete then.
        public static func stop() {
            muntrace()
        }
    }
#endif
