// Listening and connected Unix stream sockets, all non-blocking and closed on exec.

/// The result of `UnixSocket.accept`.
public enum Acceptance: ~Copyable {
    case connection(Descriptor)
    /// Nobody is waiting.
    case none
    /// No descriptor is free in this process or this system: try later.
    case exhausted
}

extension Acceptance {
    /// The result of an accepting call, which is repeated while it fails for no lasting reason. It
    /// returns as `accept` does, with `errno`.
    @inline(__always)
    public static func of(_ call: () -> Int32) throws -> Acceptance {
        while true {
            let fd = call()
            if fd >= 0 { return .connection(Descriptor(adopting: fd)) }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EAGAIN, EWOULDBLOCK: return .none
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
            default: throw SystemError.last("accept")
            }
        }
    }
}

/// Makers of Unix stream sockets.
public enum UnixSocket {
    /// Listens at `path`, for this user only. A socket that nobody has open is replaced. Throws
    /// `SocketTaken` if somebody has: it may be any program's. Any other kind of file is left alone
    /// and reported.
    public static func listen(path: String, backlog: Int32 = 1024) throws -> Descriptor {
        let address = try SocketAddress(path: path)
        try removeStale(path)
        let descriptor = try make()
        try bindForUser(descriptor.raw, address, path)
        guard startListening(descriptor.raw, backlog) == 0 else { throw SystemError.last("listen", path) }
        return descriptor
    }

    /// Takes over a listening socket that another program made.
    public static func adopt(listener number: Int32) -> Descriptor {
        setBlocking(number, false)
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        return Descriptor(adopting: number)
    }

    /// Lets other users connect to a socket at `path`, as far as its folder allows, or prevents it.
    /// The broker must check who they are when they connect.
    public static func setOpen(path: String, _ isOpen: Bool) throws {
        guard PathCalls.setMode(path, isOpen ? 0o666 : userOnly) == 0 else {
            throw SystemError.last("chmod", path)
        }
    }

    /// How long `connect` waits at most if nobody says how long.
    public static let connectSeconds = 60.0

    /// Connects to the broker at `path`, if it belongs to one of these users; otherwise throws
    /// `UntrustedBroker`. The connection is non-blocking. Connecting itself waits so long while the
    /// listener's queue is full, and then throws a `SystemError` that `isQueueFull`.
    public static func connect(
        path: String, trusting users: TrustedUsers = .own, seconds: Double = connectSeconds
    ) throws -> Descriptor {
        let address = try SocketAddress(path: path)
        try users.check(folderOf: path, isOwnPlace: path == SocketPath.ownPlace())
        let descriptor = try make()
        let limit = TimeLimit(seconds: seconds)
        while SocketCalls.connectOnce(descriptor.raw, address.storage) != 0 {
            let error = SystemError.last("connect", path)
            guard error.isQueueFull || error.code == EINTR, let left = limit.milliseconds else {
                throw error.explained(at: path)
            }
            setBlocking(descriptor.raw, true)
            SocketCalls.setSendingTime(descriptor.raw, milliseconds: left)
        }
        try users.check(peerOf: descriptor.raw, path: path)
        setBlocking(descriptor.raw, false)
        SocketCalls.setSendingTime(descriptor.raw, milliseconds: 0)
        return descriptor
    }

    /// Takes one waiting connection, of any kind of stream socket.
    public static func accept(_ listener: Int32) throws -> Acceptance {
        try Acceptance.of { acceptStream(listener) }
    }

    /// Two connected sockets, for tests and for handing one to a child.
    public static func pair() throws -> Pair {
        guard let ends = SocketCalls.makePair() else { throw SystemError.last("socketpair") }
        for fd in [ends.first, ends.second] {
            setBlocking(fd, false)
            _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        }
        return Pair(first: Descriptor(adopting: ends.first), second: Descriptor(adopting: ends.second))
    }

    /// The two ends of `pair()`.
    public struct Pair: ~Copyable, Sendable {
        public let first: Descriptor
        public let second: Descriptor
    }

    /// Switches a descriptor between blocking and non-blocking.
    public static func setBlocking(_ fd: Int32, _ blocking: Bool) {
        let flags = fcntl(fd, F_GETFL)
        _ = fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK)
    }

    /// Asks the kernel for room for `bytes` each way; it may give less.
    public static func setBuffers(_ fd: Int32, bytes: Int32) {
        SocketCalls.setOption(fd, SOL_SOCKET, SO_SNDBUF, bytes)
        SocketCalls.setOption(fd, SOL_SOCKET, SO_RCVBUF, bytes)
    }

    private static let userOnly: mode_t = 0o600

    private static func make() throws -> Descriptor {
        let fd = makeStreamSocket()
        guard fd >= 0 else { throw SystemError.last("socket") }
        return Descriptor(adopting: fd)
    }

    /// Binds a socket, so that nobody but this user can ever connect to it. The umask could do that,
    /// too; but it is the whole process's, and what another thread starts or makes meanwhile would
    /// have it.
    private static func bindForUser(_ fd: Int32, _ address: SocketAddress, _ path: String) throws {
        // Linux gives the file the mode of the socket; other systems refuse this.
        _ = fchmod(fd, userOnly)
        guard SocketCalls.bindAddress(fd, address.storage) == 0 else {
            throw SystemError.last("bind", path).explained(at: path, isMaking: true)
        }
        // In time: nobody can connect before it listens.
        if let mode = PathCalls.linkStatus(path)?.st_mode, mode & 0o777 != userOnly {
            try setOpen(path: path, false)
        }
    }

    /// Ends a connection as if its peer had closed it: what has come is still read, and then comes the end.
    public static func end(_ descriptor: borrowing Descriptor) {
        _ = shutdown(descriptor.raw, Int32(SHUT_RDWR))
    }

    /// Removes the socket file at a path, if there is one.
    public static func remove(path: String) {
        PathCalls.removeFile(path)
    }

    /// Removes the socket file at a path, if nobody has it open.
    public static func removeDead(path: String) {
        try? removeStale(path)
    }

    private static func removeStale(_ path: String) throws {
        guard let status = PathCalls.linkStatus(path) else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SystemError(code: EEXIST, operation: "bind", subject: "\(path) (a file that is no socket)")
        }
        guard try LingeringCopies.areGone({ try !isTaken(path) }) else { throw SocketTaken(path: path) }
        guard PathCalls.removeFile(path) == 0 else { throw SystemError.last("unlink", path) }
    }

    /// Whether a program has the socket at a path open, of whatever type it is, and however many
    /// connections wait there. That program notices nothing: a socket for datagrams can't be
    /// connected to one for streams, and the system says whether there is one (unix(7)).
    static func isTaken(_ path: String) throws -> Bool {
        let probe = socket(AF_UNIX, datagramSocketType, 0)
        guard probe >= 0 else { throw SystemError.last("socket") }
        let descriptor = Descriptor(adopting: probe)
        if SocketCalls.connectAddress(descriptor.raw, try SocketAddress(path: path).storage) == 0 {
            return true
        }
        switch errno {
        case ECONNREFUSED, ENOENT: return false
        // Of another type, or a socket for datagrams that takes them from one sender only.
        case EPROTOTYPE, EPERM: return true
        default: throw SystemError.last("connect", path).explained(at: path)
        }
    }
}

/// A socket that another program has open. It was left alone.
public struct SocketTaken: Error, Equatable, CustomStringConvertible {
    public let path: String
    public var description: String { "something else listens at \(path)" }
}

extension SystemError {
    /// Whether so many clients wait to be accepted that the listener takes no more.
    public var isQueueFull: Bool { operation == "connect" && (code == EAGAIN || code == EWOULDBLOCK) }
}

/// `listen` under a name that the makers of sockets don't shadow.
func startListening(_ fd: Int32, _ backlog: Int32) -> Int32 {
    listen(fd, backlog)
}
