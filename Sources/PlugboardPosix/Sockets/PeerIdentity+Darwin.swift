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

        /// The groups of the process at the other end, as they were when it connected.
        public static func groups(of fd: Int32) -> [UInt32] {
            var credentials = xucred()
            var length = socklen_t(MemoryLayout<xucred>.size)
            guard getsockopt(fd, SOL_LOCAL, LOCAL_PEERCRED, &credentials, &length) == 0 else { return [] }
            let count = max(0, Int(credentials.cr_ngroups))
            return withUnsafeBytes(of: credentials.cr_groups) {
                Array($0.bindMemory(to: UInt32.self).prefix(count))
            }
        }
    }
#endif
