// Where the bus is: one rule for the broker, the client library and the command.

/// Why a path can't hold the bus's socket.
public enum SocketPathError: Error, Equatable, CustomStringConvertible {
    /// Longer than a Unix socket's address can be.
    case tooLong(path: String, bytes: Int, limit: Int)
    /// The folder exists and isn't the user's own, or others may enter it.
    case untrustedFolder(path: String, reason: String)

    public var description: String {
        switch self {
        case .tooLong(let path, let bytes, let limit):
            "the socket path has \(bytes) bytes, a Unix socket takes at most \(limit): \(path)"
        case .untrustedFolder(let path, let reason):
            "the folder \(path) \(reason)"
        }
    }
}

/// The default place of the socket, and the folder it lies in.
public enum SocketPath {
    /// The longest path in bytes.
    public static var bytesMax: Int { SocketAddress.pathBytesMax }

    /// Throws `SocketPathError.tooLong` for a path that can't be a socket's address.
    public static func check(_ path: String) throws(SocketPathError) {
        _ = try SocketAddress(path: path)
    }

    /// The path to use: `PLUGBOARD_SOCKET`, or else a path below `XDG_RUNTIME_DIR`, or else below
    /// the user's own folder in the temporary folder. Empty variables count as unset.
    public static func standard(environment: (String) -> String? = Self.variable) -> String {
        if let path = environment("PLUGBOARD_SOCKET"), !path.isEmpty { return path }
        return ownPlace(environment: environment)
    }

    /// The default path, in a folder that must belong to the user.
    public static func ownPlace(environment: (String) -> String? = Self.variable) -> String {
        if let folder = environment("XDG_RUNTIME_DIR"), !folder.isEmpty {
            return joined(folder, "plugboard/bus.sock")
        }
        let temporary = environment("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        return joined(temporary, "plugboard-\(getuid())/bus.sock")
    }

    /// A variable of this process's environment.
    public static func variable(_ name: String) -> String? {
        Environment.variable(name)
    }

    /// The folder part of a path; `.` if it has none.
    public static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Creates the socket's folder with mode 0700 if it is missing. A folder at the standard places
    /// must belong to the user and be closed to others, because in a shared temporary folder a
    /// stranger could have made it first.
    public static func prepareFolder(of path: String, mustBePrivate: Bool) throws {
        let folder = folder(of: path)
        if PathCalls.makeFolder(folder, 0o700) != 0, errno != EEXIST {
            throw SystemError.last("mkdir", folder).explained(at: folder, isMaking: true)
        }
        guard mustBePrivate else { return }
        guard let status = PathCalls.linkStatus(folder) else { throw SystemError.last("lstat", folder) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw SocketPathError.untrustedFolder(path: folder, reason: "is not a folder")
        }
        guard status.st_uid == getuid() else {
            throw SocketPathError.untrustedFolder(path: folder, reason: "belongs to another user")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw SocketPathError.untrustedFolder(path: folder, reason: "is open to other users")
        }
    }

    private static func joined(_ folder: String, _ name: String) -> String {
        folder.hasSuffix("/") ? folder + name : folder + "/" + name
    }
}
