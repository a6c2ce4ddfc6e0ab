// getpeereid(3) and LOCAL_PEERPID of unix(4). Not yet tried on a Mac.
//
// Why its pointers are safe: each is to a local variable, for the length of one call; the groups
// are numbers, and no more are taken than there is room for.

#if canImport(Darwin)
    import Darwin

    extension PeerIdentity {
        /// Asks the kernel; nil if the descriptor is no connected Unix socket.
        public init?(of fd: Int32) {
            var (user, group): (uid_t, gid_t) = (0, 0)
            guard unsafe getpeereid(fd, &user, &group) == 0 else { return nil }
            let process = SocketCalls.option(fd, SOL_LOCAL, LOCAL_PEERPID, pid_t(0))
            self.init(process: process ?? 0, user: user)
        }

        /// The groups of the process at the other end, as they were when it connected.
        public static func groups(of fd: Int32) -> [UInt32] {
            guard let credentials = SocketCalls.option(fd, SOL_LOCAL, LOCAL_PEERCRED, xucred()) else {
                return []
            }
            let count = max(0, Int(credentials.cr_ngroups))
            return unsafe withUnsafeBytes(of: credentials.cr_groups) {
                unsafe Array($0.bindMemory(to: UInt32.self).prefix(count))
            }
        }
    }
#endif
