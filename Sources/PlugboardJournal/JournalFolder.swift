// The folder of a journal on disk. The broker or command that uses the journal owns it. It holds a lock,
// so only one process uses the folder at a time.

import PlugboardMemory
import PlugboardPosix

/// A journal's folder, locked against other processes while this object lives.
public final class JournalFolder: Sendable {
    public var store: any FileStore { folder }
    /// Whether the lock was inherited from the program before.
    public let isInherited: Bool
    private let lock: Descriptor
    private let folder: DataFolder

    /// Creates the folder with mode 0700 if it is missing, and locks it, unless this process inherited the lock from the
    /// broker before it. Throws `JournalError.inUse` or `SystemError`.
    public init(path: String, inheritance: Inheritance? = nil) throws {
        folder = try DataFolder(path: path)
        if let inherited = inheritance?.takeLock(ofFolder: path) {
            lock = inherited
            isInherited = true
        } else if let taken = try folder.lock(Self.lockName) {
            lock = taken
            isInherited = false
        } else {
            throw JournalError.inUse(folder: path)
        }
    }

    /// The lock's descriptor, for system calls. This object keeps owning it.
    public var lockFD: Int32 { lock.raw }

    private static let lockName = "lock"

    /// Takes the lock anew if its file was removed, so that no other process can take it.
    public func keepLock() {
        folder.keepLock(Self.lockName, lock)
    }

    /// The default folder for a broker with this socket path: in `XDG_STATE_HOME`, or else in
    /// `~/.local/state`. Nil if neither is an absolute path. The name is that of the socket file. Unless
    /// the socket is at the user's default path, a checksum of its path is added.
    public static func standard(forSocket socketPath: String) -> String? {
        guard let home = stateHome() else { return nil }
        let name = socketPath.split(separator: "/").last.map(String.init) ?? "bus.sock"
        let stem = name.hasSuffix(".sock") && name != ".sock" ? String(name.dropLast(5)) : name
        if socketPath == SocketPath.ownPlace() { return "\(home)/plugboard/\(stem)" }
        let path = socketPath.hasPrefix("/") ? socketPath : "\(Folder.current())/\(socketPath)"
        let checksum = path.withBytes { Checksum.extended(0, by: $0) }
        return "\(home)/plugboard/\(stem)-\(String(checksum, radix: 16))"
    }

    private static func stateHome() -> String? {
        if let home = SocketPath.variable("XDG_STATE_HOME"), home.hasPrefix("/") { return home }
        return SocketPath.variable("HOME").flatMap { $0.hasPrefix("/") ? "\($0)/.local/state" : nil }
    }
}
