// SO_PEERCRED of unix(7): a `struct ucred`, which is three 32-bit numbers.

#if os(Linux)
    #if canImport(Musl)
        import Musl
    #else
        import Glibc
    #endif

    extension PeerIdentity {
        /// Asks the kernel; nil where the descriptor is no connected Unix socket.
        public init?(of fd: Int32) {
            var credentials: (process: Int32, user: UInt32, group: UInt32) = (0, 0, 0)
            var length = socklen_t(MemoryLayout.size(ofValue: credentials))
            guard getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
            self.init(process: credentials.process, user: credentials.user)
        }
    }
#endif
