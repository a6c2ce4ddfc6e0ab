// The three numbers that every program takes to be its standard streams, whatever it was
// started with. Called once, before anything is opened.

extension StandardStream {
    /// Opens `/dev/null` in place of standard streams that were closed (`cart >&-`). The next
    /// thing opened would have their number else, and a line for people go where it points:
    /// into the connection or the log.
    public static func occupy() {
        for fd in Int32(0)...2 where fcntl(fd, F_GETFD) == -1 {
            // The lowest free number is what `open` takes, so this one. Where it can't be
            // had, nothing is worse than before.
            _ = open("/dev/null", O_RDWR)
        }
    }
}
