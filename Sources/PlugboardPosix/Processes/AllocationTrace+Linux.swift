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
            setMode(begunMode)
        }

        /// Whether a process writes down each allocation by now.
        public static func hasBegun(log: String) -> Bool { hasMode(begunMode, log) }

        /// Brings what was traced until now into the file, and says so by its mode. The trace goes on:
        /// `muntrace` takes its file away from threads that are writing to it. From any thread.
        public static func flush() {
            fflush(nil)
            setMode(flushedMode)
        }

        /// Whether everything that came before `flush` is in the file.
        public static func isFlushed(log: String) -> Bool { hasMode(flushedMode, log) }

        private static let begunMode: mode_t = 0o400
        private static let flushedMode: mode_t = 0o440

        private static func setMode(_ mode: mode_t) {
            if let log = unsafe getenv("MALLOC_TRACE") { unsafe chmod(log, mode) }
        }

        private static func hasMode(_ mode: mode_t, _ log: String) -> Bool {
            PathCalls.status(log).map { $0.st_mode & 0o777 == mode } ?? false
        }
    }
#endif
