// A lock that a broker holds as long as it lives, so that a path has one broker. The kernel
// releases the lock when the process ends, however it ends, so no pid has to be trusted. The file
// itself stays; to remove it would open a race.

/// The lock beside a socket.
public struct SocketLock: ~Copyable, Sendable {
    private let descriptor: Descriptor

    /// Takes the lock for a socket path, or returns nil if another broker holds it.
    public static func acquire(for socketPath: String) throws -> SocketLock? {
        let path = socketPath + ".lock"
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        let fd = PathCalls.openFile(path, flags, 0o600)
        guard fd >= 0 else { throw SystemError.last("open", path) }
        let lock = SocketLock(descriptor: Descriptor(adopting: fd))
        guard try FileLock.take(fd, path) else { return nil }
        return lock
    }

    /// Continues with a lock that the previous program in this process held.
    init(adopting descriptor: consuming Descriptor) {
        self.init(descriptor: descriptor)
    }

    /// The number, for calls that borrow it.
    public var raw: Int32 { descriptor.raw }

    private init(descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }
}
