// A lock that a broker holds as long as it lives, so that a path has one broker. The kernel
// releases the lock when the process ends, however it ends, so no pid has to be trusted. The file
// itself stays; to remove it would open a race.

/// The lock beside a socket.
public struct SocketLock: ~Copyable, Sendable {
    private let descriptor: Descriptor

    /// Takes the lock for a socket path, or returns nil if another broker holds it.
    public static func acquire(for socketPath: String) throws -> SocketLock? {
        guard let descriptor = try FileLock.acquire(path(for: socketPath)) else { return nil }
        return SocketLock(descriptor: descriptor)
    }

    /// Where it is.
    static func path(for socketPath: String) -> String { socketPath + ".lock" }

    /// Whether a process has the lock for a socket path open. False if the system doesn't tell.
    public static func isOpen(in process: Int32, for socketPath: String) -> Bool {
        let open = "/proc/\(process)/fd"
        guard let lock = FileIdentity(path: path(for: socketPath)), let names = try? Folder.names(in: open)
        else { return false }
        return names.contains { FileIdentity(path: "\(open)/\($0)") == lock }
    }

    /// Whether it is still the lock for that path. If its file was removed, takes it anew.
    func keep(for socketPath: String) -> Bool { FileLock.keep(raw, Self.path(for: socketPath)) }

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
