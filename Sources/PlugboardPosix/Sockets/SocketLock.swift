// Held by a broker for as long as it lives, so that a path has one broker: the
// kernel lets go of the lock when the process ends, however it ends, and no pid
// is ever trusted. The file itself stays; removing it would open a race.

/// The lock beside a socket.
public struct SocketLock: ~Copyable, Sendable {
    private let descriptor: Descriptor

    /// Takes the lock for a socket path, or returns nil where another broker holds it.
    public static func acquire(for socketPath: String) throws -> SocketLock? {
        let path = socketPath + ".lock"
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        let fd = retrying { open(path, flags, mode_t(0o600)) }
        guard fd >= 0 else { throw SystemError.last("open", path) }
        let lock = SocketLock(descriptor: Descriptor(adopting: fd))
        guard try FileLock.take(fd, path) else { return nil }
        return lock
    }

    /// Goes on with a lock that the program before held in this process.
    init(adopting descriptor: consuming Descriptor) {
        self.init(descriptor: descriptor)
    }

    /// The number, for calls that borrow it.
    public var raw: Int32 { descriptor.raw }

    private init(descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }
}
