// Data files elsewhere: no room is reserved ahead, and a sync goes as far as the system
// offers. Not yet tried on a Mac.
//
// Why its pointers are safe: each is to a local variable, with its size, for the length of one call.

#if !os(Linux)
    enum PlatformFile {
        /// Nothing can be said.
        static func reserve(_ fd: Int32, from offset: Int, _ bytes: Int) -> Int32 { ENOTSUP }

        /// Only a sync can be asked for.
        static func writeBack(_ fd: Int32, from offset: Int, _ bytes: Int) -> Int32 { 0 }

        /// `fsync` alone leaves the bytes in the drive's memory there.
        static func sync(_ fd: Int32) -> Int32 { fcntl(fd, F_FULLFSYNC) == -1 ? fsync(fd) : 0 }
    }

    /// Identifies one run of the system; empty if that isn't known.
    public enum SystemBoot {
        public static func identity() -> String {
            var time = timeval()
            var size = MemoryLayout<timeval>.size
            guard unsafe sysctlbyname("kern.boottime", &time, &size, nil, 0) == 0 else { return "" }
            return "\(time.tv_sec).\(time.tv_usec)"
        }

        /// Milliseconds since the system started, asleep or awake.
        public static func milliseconds() -> UInt64 { timespec(of: CLOCK_MONOTONIC).milliseconds }
    }
#endif
