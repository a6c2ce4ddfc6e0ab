// A folder of this process's own, for sockets and files that nobody else needs. Its
// owner removes it, with all that lies in it. Only this user can enter it, until the owner opens it.

/// A folder that exists as long as this value does.
public final class TemporaryFolder: Sendable {
    public let path: String

    /// Makes a folder that only the user can enter. Its name is short, because a Unix socket's path
    /// must be. With `isOnDisk` it is in a place whose files survive a crash of the machine, unless
    /// `TMPDIR` says otherwise: `/tmp` may be memory. Throws `SystemError`.
    public init(named name: String, isOnDisk: Bool = false) throws {
        let usual = isOnDisk ? "/var/tmp" : "/tmp"
        let parent = SocketPath.variable("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? usual
        guard let path = PathCalls.makeTemporaryFolder("\(parent)/\(name)") else {
            throw SystemError.last("mkdtemp", parent)
        }
        self.path = path
    }

    /// Lets other users enter it. Throws `SystemError`.
    public func admitOthers() throws {
        guard PathCalls.setMode(path, 0o755) == 0 else { throw SystemError.last("chmod", path) }
    }

    deinit {
        Folder.remove(path)
    }
}
