// What a process has used so far, from the kernel's accounts. It measures other processes without
// asking them, so it doesn't disturb them.
//
// Why its pointers are safe: each is to a local variable, for the length of one call.

#if os(Linux)
    /// The accounts of one process, all its threads together.
    public enum ProcessUsage {
        /// CPU time in nanoseconds, user and system. Throws `SystemError` if it is gone.
        public static func cpuNanoseconds(of pid: Int32) throws -> UInt64 {
            var clock = clockid_t()
            let code = unsafe clock_getcpuclockid(pid, &clock)
            guard code == 0 else {
                throw SystemError(code: code, operation: "clock_getcpuclockid", subject: "\(pid)")
            }
            return try Self.nanoseconds(clock)
        }

        /// CPU time of the calling thread in nanoseconds.
        public static func threadNanoseconds() throws -> UInt64 {
            try nanoseconds(CLOCK_THREAD_CPUTIME_ID)
        }

        /// How often it called `read`; calls of `recv` don't count.
        public static func readCalls(of pid: Int32) throws -> UInt64 {
            try number(after: "syscr:", in: "/proc/\(pid)/io")
        }

        /// Bytes that it had written to files, as soon as they are to go to disk.
        public static func bytesToDisk(of pid: Int32) throws -> UInt64 {
            try number(after: "write_bytes:", in: "/proc/\(pid)/io")
        }

        /// Bytes of memory that are this process's own (Pss_Anon). Its share of pages from files is not
        /// among them: that changes whenever another process of the same program starts or ends.
        public static func memoryBytes(of pid: Int32) throws -> UInt64 {
            try number(after: "Pss_Anon:", in: "/proc/\(pid)/smaps_rollup") * 1024
        }

        /// Bytes of a process's memory that are in use (Rss), which costs it less to tell.
        public static func residentBytes(of pid: Int32) throws -> UInt64 {
            try number(after: "VmRSS:", in: "/proc/\(pid)/status") * 1024
        }

        /// Bytes of the calling process's memory that are in use (Rss).
        public static func memoryBytes() throws -> UInt64 {
            let bytes = try InputFile.contents(path: "/proc/self/statm", limit: 256)
            let fields = bytes.split(separator: UInt8(ascii: " "))
            guard fields.count > 1, let pages = UInt64(String(decoding: fields[1], as: UTF8.self)) else {
                throw SystemError(code: ENODATA, operation: "read resident", subject: "/proc/self/statm")
            }
            return pages * UInt64(sysconf(Int32(_SC_PAGESIZE)))
        }

        private static func nanoseconds(_ clock: clockid_t) throws -> UInt64 {
            var time = timespec()
            guard unsafe clock_gettime(clock, &time) == 0 else { throw SystemError.last("clock_gettime") }
            return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        }

        private static func number(after label: String, in path: String) throws -> UInt64 {
            let bytes = try InputFile.contents(path: path, limit: 65_536)
            for line in bytes.split(separator: UInt8(ascii: "\n")) where line.starts(with: label.utf8) {
                let digits = line.drop { !isDigit($0) }.prefix(while: isDigit)
                if let value = UInt64(String(decoding: digits, as: UTF8.self)) { return value }
            }
            throw SystemError(code: ENODATA, operation: "read \(label)", subject: path)
        }

        private static func isDigit(_ byte: UInt8) -> Bool {
            (0x30...0x39).contains(byte)
        }
    }
#endif
