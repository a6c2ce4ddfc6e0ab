// For systems whose accounts this program can't read.

#if !os(Linux)
    /// The accounts of one process: only Linux has them so far.
    public enum ProcessUsage {
        public static func cpuNanoseconds(of pid: Int32) throws -> UInt64 { throw unsupported }
        public static func threadNanoseconds() throws -> UInt64 { throw unsupported }
        public static func readCalls(of pid: Int32) throws -> UInt64 { throw unsupported }
        public static func bytesToDisk(of pid: Int32) throws -> UInt64 { throw unsupported }
        public static func memoryBytes(of pid: Int32) throws -> UInt64 { throw unsupported }
        public static func residentBytes(of pid: Int32) throws -> UInt64 { throw unsupported }
        public static func memoryBytes() throws -> UInt64 { throw unsupported }

        private static var unsupported: SystemError {
            SystemError(code: ENOTSUP, operation: "measure another process")
        }
    }
#endif
