// SO_PEERCRED of unix(7): a `struct ucred`, which is three 32-bit numbers.

#if os(Linux)
    #if canImport(Musl)
        import Musl
    #else
        import Glibc
    #endif

    extension PeerIdentity {
        private typealias Credentials = (process: Int32, user: UInt32, group: UInt32)

        /// Asks the kernel; nil if the descriptor is no connected Unix socket.
        public init?(of fd: Int32) {
            guard let credentials = Self.credentials(of: fd) else { return nil }
            self.init(process: credentials.process, user: credentials.user)
        }

        /// The groups of the process at the other end, as they were when it connected.
        public static func groups(of fd: Int32) -> [UInt32] {
            guard let credentials = credentials(of: fd) else { return [] }
            return [credentials.group] + SocketCalls.numbers(fd, SOL_SOCKET, peerGroupsOption)
        }

        private static func credentials(of fd: Int32) -> Credentials? {
            SocketCalls.option(fd, SOL_SOCKET, SO_PEERCRED, (0, 0, 0) as Credentials)
        }

        /// SO_PEERGROUPS of asm-generic/socket.h, which not every libc knows.
        private static let peerGroupsOption: Int32 = 59
    }
#endif
