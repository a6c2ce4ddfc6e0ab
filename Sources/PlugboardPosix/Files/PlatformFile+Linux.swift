// Data files the Linux way.

#if os(Linux)
    enum PlatformFile {
        /// 0, or an error number.
        static func reserve(_ fd: Int32, from offset: Int, _ bytes: Int) -> Int32 {
            let keepsSize: Int32 = 1
            while fallocate(fd, keepsSize, off_t(offset), off_t(bytes)) != 0 {
                if errno != EINTR { return errno }
            }
            return 0
        }

        static func sync(_ fd: Int32) -> Int32 { retrying { fdatasync(fd) } }

        /// -1 only for an error of the disk.
        static func writeBack(_ fd: Int32, from offset: Int, _ bytes: Int) -> Int32 {
            let waitBefore: UInt32 = 1, write: UInt32 = 2, waitAfter: UInt32 = 4
            let all = waitBefore | write | waitAfter
            let isDone = retrying { sync_file_range(fd, off_t(offset), off_t(bytes), all) } == 0
            return isDone || [ENOSYS, EINVAL, ESPIPE].contains(errno) ? 0 : -1
        }
    }

    /// Identifies one run of the system; empty if that isn't known.
    public enum SystemBoot {
        public static func identity() -> String {
            let path = "/proc/sys/kernel/random/boot_id"
            guard let bytes = try? InputFile.contents(path: path, limit: 64) else { return "" }
            return String(
                decoding: bytes.filter { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }, as: UTF8.self
            )
        }

        /// Milliseconds since the system started, asleep or awake.
        public static func milliseconds() -> UInt64 { timespec(of: CLOCK_BOOTTIME).milliseconds }
    }
#endif
