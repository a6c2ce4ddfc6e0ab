// Which pollers there are on Linux.

#if os(Linux)
    extension PollerKind {
        /// The one to use unless told otherwise.
        public static let standard = PollerKind.epoll

        /// Makes a poller of this kind.
        public func make() throws -> any Poller {
            switch self {
            case .epoll: try Epoll()
            case .poll: PollPoller()
            }
        }
    }
#endif
