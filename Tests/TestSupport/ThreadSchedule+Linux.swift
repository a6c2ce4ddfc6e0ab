// What Linux tells of a thread's turns: proc(5), `/proc/PID/sched`.

#if os(Linux)
    import PlugboardPosix

    /// A thread's scheduling.
    public enum ThreadSchedule {
        /// A figure of a thread; nil if this system doesn't tell it.
        public static func figure(_ name: String, of thread: String = "thread-self") -> String? {
            let line = lines("/proc/\(thread)/sched").first { $0.hasPrefix(name) }
            return line?.split(separator: ":").last.map { $0.filter { !$0.isWhitespace } }
        }

        /// Whether each thread may choose how long its turns are, since Linux 6.12, and the system tells it.
        public static var hasTurns: Bool {
            let release = lines("/proc/sys/kernel/osrelease").first?.split(separator: ".") ?? []
            let numbers = release.prefix(2).compactMap { Int($0) }
            return numbers.count == 2 && (numbers[0], numbers[1]) >= (6, 12) && figure("se.slice") != nil
        }

        private static func lines(_ path: String) -> [Substring] {
            let bytes = (try? InputFile.contents(path: path, limit: 65_536)) ?? []
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        }
    }
#endif
