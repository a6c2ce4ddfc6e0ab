// getpeereid(3) and LOCAL_PEERPID of unix(4). Not yet tried on a Mac.

#if canImport(Darwin)
    import Darwin

    extension PeerIdentity {
        /// Asks the kernel; nil where the descriptor is no connected Unix socket.
        public init?(of fd: Int32) {
            var (user, group): (uid_t, gid_t) = (0, 0)
            guard getpeereid(fd, &user, &group) == 0 else { return nil }
            var process: pid_t = 0
            var length = socklen_t(MemoryLayout<pid_t>.size)
            getsockopt(fd, SOL_LOCAL, LOCAL_PEERPID, &process, &length)
            self.init(process: process, user: user)
        }
    }
#endif
