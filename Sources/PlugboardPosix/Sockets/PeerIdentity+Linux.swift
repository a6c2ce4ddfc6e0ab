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

        /// The groups of the process at the other end, as they were when it connected.
        public static func groups(of fd: Int32) -> [UInt32] {
            var credentials: (process: Int32, user: UInt32, group: UInt32) = (0, 0, 0)
            var length = socklen_t(MemoryLayout.size(ofValue: credentials))
            guard getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return [] }
            return [credentials.group] + furtherGroups(of: fd)
        }

        /// SO_PEERGROUPS; a first try without room tells how much is needed.
        private static func furtherGroups(of fd: Int32) -> [UInt32] {
            var length: socklen_t = 0
            _ = getsockopt(fd, SOL_SOCKET, peerGroupsOption, nil, &length)
            var groups = [UInt32](repeating: 0, count: Int(length) / MemoryLayout<UInt32>.stride)
            guard !groups.isEmpty, getsockopt(fd, SOL_SOCKET, peerGroupsOption, &groups, &length) == 0 else {
                return []
            }
            return groups
        }

        /// SO_PEERGROUPS of asm-generic/socket.h, which not every libc knows.
        private static let peerGroupsOption: Int32 = 59
    }
#endif
