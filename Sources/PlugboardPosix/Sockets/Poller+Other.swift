// Which pollers there are elsewhere: poll(2) alone, whatever was asked for.

#if !os(Linux)
    extension PollerKind {
        /// The one to use unless told otherwise.
        public static let standard = PollerKind.poll

        /// Makes a poller; there is no epoll here.
        public func make() throws -> any Poller {
            guard self == .poll else { throw SystemError(code: ENOSYS, operation: "epoll") }
            return PollPoller()
        }
    }
#endif
