// The three numbers of the standard streams, which a program may find closed. Called once, before
// anything is opened.

extension StandardStream {
    /// Opens `/dev/null` in place of closed standard streams (`cart >&-`). Otherwise the next
    /// opened file or socket would get their number, and a line for people would go into the
    /// connection or the log.
    public static func occupy() {
        for fd in Int32(0)...2 where fcntl(fd, F_GETFD) == -1 {
            // `open` takes the lowest free number, so this one. If it fails, nothing is worse than
            // before.
            _ = PathCalls.openFile("/dev/null", O_RDWR)
        }
    }
}
