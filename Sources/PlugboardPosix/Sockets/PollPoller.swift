// The poller on other systems, and on Linux if a test asks for it: one array that the kernel takes
// as it is, and beside it the place of each descriptor.
//
// Why its pointer is safe: it is to an array, with the array's count, for the length of one call.

/// poll(2).
public final class PollPoller: Poller {
    private var watched: [pollfd] = []
    private var tokens: [UInt64] = []
    private var places: [Int32: Int] = [:]

    public init() {}

    public func add(_ fd: Int32, token: UInt64, interest: Interest) throws {
        guard places[fd] == nil else {
            throw SystemError(code: EEXIST, operation: "poll", subject: "descriptor \(fd)")
        }
        places[fd] = watched.count
        watched.append(pollfd(fd: fd, events: Self.bits(interest), revents: 0))
        tokens.append(token)
    }

    public func change(_ fd: Int32, token: UInt64, interest: Interest) throws {
        guard let place = places[fd] else {
            throw SystemError(code: ENOENT, operation: "poll", subject: "descriptor \(fd)")
        }
        if interest.contains(.known) { return remove(fd) }
        watched[place].events = Self.bits(interest)
        tokens[place] = token
    }

    public func remove(_ fd: Int32) {
        guard let place = places.removeValue(forKey: fd) else { return }
        let last = watched.count - 1
        if place != last {
            watched[place] = watched[last]
            tokens[place] = tokens[last]
            places[watched[place].fd] = place
        }
        watched.removeLast()
        tokens.removeLast()
    }

    public func wait(milliseconds: Int32, _ body: (Readiness) throws -> Void) throws {
        let count = PollCalls.wait(&watched, milliseconds)
        guard count >= 0 else {
            if errno == EINTR { return }
            throw SystemError.last("poll")
        }
        for ready in collect(Int(count)) { try body(ready) }
    }

    /// Copied before the calls, because these may add and remove descriptors.
    private func collect(_ count: Int) -> [Readiness] {
        var ready: [Readiness] = []
        ready.reserveCapacity(count)
        for (place, entry) in watched.enumerated() where entry.revents != 0 {
            let bits = Int32(entry.revents)
            ready.append(
                Readiness(
                    token: tokens[place],
                    canRead: bits & POLLIN != 0,
                    canWrite: bits & POLLOUT != 0,
                    isGone: bits & (POLLHUP | POLLERR | POLLNVAL) != 0
                )
            )
            if ready.count == count { break }
        }
        return ready
    }

    static func bits(_ interest: Interest) -> Int16 {
        var bits: Int32 = 0
        if interest.contains(.read) { bits |= POLLIN }
        if interest.contains(.write) { bits |= POLLOUT }
        return Int16(bits)
    }
}

/// The call itself.
enum PollCalls {
    /// How many are ready; it returns as `poll` does, with `errno`.
    static func wait(_ entries: inout [pollfd], _ milliseconds: Int32) -> Int32 {
        unsafe poll(&entries, nfds_t(entries.count), milliseconds)
    }

    /// The same for one descriptor.
    static func wait(_ fd: Int32, _ events: Int16, _ milliseconds: Int32) -> Int32 {
        var entry = pollfd(fd: fd, events: events, revents: 0)
        return unsafe poll(&entry, 1, milliseconds)
    }
}
