// Where the C library writes no trace of allocations.

#if !canImport(Glibc)
    /// Tracing of `malloc` and its like: only glibc has it.
    public enum AllocationTrace {
        public static let library = "libc_malloc_debug"
        public static func environment(log: String) -> [String] { [] }
        public static func start() {}
        public static func hasBegun(log: String) -> Bool { false }
        public static func flush() {}
        public static func isFlushed(log: String) -> Bool { false }
    }
#endif
