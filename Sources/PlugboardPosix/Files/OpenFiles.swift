// How many descriptors this process and its children may have, and how large their files may get.
//
// Why its pointers are safe: each is to a local variable, for the length of one call.

/// The limits on open files.
public enum OpenFiles {
    /// Raises the limit as far as the system lets this user, and returns it.
    public static func raiseLimit() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(openFilesLimit, &limit) == 0 else { return 0 }
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        if unsafe setrlimit(openFilesLimit, &raised) == 0 { limit = raised }
        return Int(clamping: limit.rlim_cur)
    }

    /// The largest size to which this process may write a file (`ulimit -f`).
    static var bytesMax: Int {
        var limit = rlimit()
        guard unsafe getrlimit(fileSizeLimit, &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur)
    }

    /// Has the system make its table of this process's descriptors large enough for so many. If that grows
    /// later, beside other threads, `accept` waits for tens of milliseconds. So call it before there are any.
    public static func makeRoom(for count: Int) {
        for standard: Int32 in 0...2 {
            let fd = fcntl(standard, F_DUPFD_CLOEXEC, Int32(clamping: count - 1))
            if fd >= 0 { return DescriptorCalls.close(fd) }
        }
    }
}
