// The poller on Linux: cost per turn grows with what is ready, not with what is watched.
//
// Why its pointers are safe: the call is told how many events the poller's own memory has room for,
// and only those that it has written are read; the other pointers are to local variables.

#if os(Linux)
    /// epoll(7), level-triggered.
    @safe
    public final class Epoll: Poller {
        /// Enough for all that is ready: the connection that waits longest isn't always served next.
        private static let eventsPerTurn = 16_384
        private let descriptor: Descriptor
        private let events: UnsafeMutablePointer<epoll_event>

        public init() throws {
            let fd = epoll_create1(Int32(EPOLL_CLOEXEC))
            guard fd >= 0 else { throw SystemError.last("epoll_create1") }
            descriptor = Descriptor(adopting: fd)
            unsafe events = .allocate(capacity: Self.eventsPerTurn)
        }

        deinit {
            unsafe events.deallocate()
        }

        public func add(_ fd: Int32, token: UInt64, interest: Interest) throws {
            try control(EPOLL_CTL_ADD, fd, token, interest)
        }

        public func change(_ fd: Int32, token: UInt64, interest: Interest) throws {
            if interest.contains(.known) { return remove(fd) }
            try control(EPOLL_CTL_MOD, fd, token, interest)
        }

        public func remove(_ fd: Int32) {
            var event = unsafe epoll_event()
            _ = unsafe epoll_ctl(descriptor.raw, EPOLL_CTL_DEL, fd, &event)
        }

        public func wait(milliseconds: Int32, _ body: (Readiness) throws -> Void) throws {
            let count = unsafe epoll_wait(descriptor.raw, events, Int32(Self.eventsPerTurn), milliseconds)
            guard count >= 0 else {
                if errno == EINTR { return }
                throw SystemError.last("epoll_wait")
            }
            for index in 0..<Int(count) {
                let (bits, token) = unsafe (events[index].events, events[index].data.u64)
                try body(
                    Readiness(
                        token: token,
                        canRead: bits & EPOLLIN.rawValue != 0,
                        canWrite: bits & EPOLLOUT.rawValue != 0,
                        isGone: bits & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0
                    )
                )
            }
        }

        private func control(_ operation: Int32, _ fd: Int32, _ token: UInt64, _ interest: Interest) throws {
            var event = unsafe epoll_event()
            if interest.contains(.read) { unsafe event.events |= EPOLLIN.rawValue }
            if interest.contains(.write) { unsafe event.events |= EPOLLOUT.rawValue }
            unsafe event.data.u64 = token
            guard unsafe epoll_ctl(descriptor.raw, operation, fd, &event) == 0 else {
                throw SystemError.last("epoll_ctl")
            }
        }
    }
#endif
