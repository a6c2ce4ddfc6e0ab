// Which allocations a program makes, written down by glibc itself. Its debugging library
// must be loaded before the program begins, so a child that shall be traced is told so in
// its environment; it begins and ends the trace itself.

#if canImport(Glibc)
    /// Tracing of `malloc` and its like, for measurements.
    public enum AllocationTrace {
        /// A part of the debugging library's name.
        public static let library = "libc_malloc_debug"

        /// Variables of a child that shall trace its allocations into the file `log`.
        public static func environment(log: String) -> [String] {
            ["LD_PRELOAD=\(library).so.0", "MALLOC_TRACE=\(log)"]
        }

        /// Traces this process's allocations from here on, if its environment says where to.
        /// From any thread.
        public static func start() {
            mtrace()
        }

        /// Ends the trace; its file is complete then.
        public static func stop() {
            muntrace()
        }
    }
#endif
