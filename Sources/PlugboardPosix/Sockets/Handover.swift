// What a program leaves to the one that takes its place in the same process: descriptors that stay
// open, with their numbers in a variable. The next program checks that each descriptor is what the
// variable calls it, because anybody can set a variable.

/// Descriptors on their way from one program to the next.
public enum Handover {
    /// What a descriptor is for.
    public enum Role: String, CaseIterable, Sendable {
        case listener, lock, journal, state, writes, policy, rights
    }

    /// The variable with their numbers, such as `listener=5,lock=4`.
    public static let variable = "PLUGBOARD_HANDOVER"

    /// The variable with the identity of the listener's file.
    public static let socketFile = "PLUGBOARD_HANDOVER_FILE"

    /// These variables, which this program has to remove from its environment.
    public static func variables(_ names: [String]) -> [String: String] {
        var values: [String: String] = [:]
        for name in names { values[name] = SocketPath.variable(name) }
        return values
    }

    /// Leaves descriptors and variables to the next program. The caller owns the descriptors until
    /// then.
    public static func leave(_ fds: [Role: Int32], variables: [String: String] = [:]) {
        for (name, value) in variables { Environment.set(name, value) }
        for fd in fds.values { keepAcrossPrograms(fd, true) }
        let entries = Role.allCases.compactMap { role in fds[role].map { "\(role.rawValue)=\($0)" } }
        Environment.set(variable, entries.joined(separator: ","))
    }

    /// Takes that back, if no next program has started.
    public static func withdraw(_ fds: [Role: Int32], variables: [String: String] = [:]) {
        for name in variables.keys { Environment.remove(name) }
        Environment.remove(variable)
        for fd in fds.values { keepAcrossPrograms(fd, false) }
    }

    /// Takes what was left to this program, once. Its children inherit none of it.
    public static func take() -> Inheritance? {
        guard let text = SocketPath.variable(variable) else { return nil }
        let file = SocketPath.variable(socketFile).flatMap { FileIdentity($0) }
        for name in [variable, socketFile] { Environment.remove(name) }
        var fds: [Role: Int32] = [:]
        for entry in text.split(separator: ",") {
            let parts = entry.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let role = Role(rawValue: String(parts[0])), let fd = Int32(parts[1]),
                fd > STDERR_FILENO, !fds.values.contains(fd), fcntl(fd, F_GETFD) >= 0
            else { return nil }
            fds[role] = fd
        }
        for fd in fds.values { keepAcrossPrograms(fd, false) }
        return Inheritance(fds, file)
    }

    private static func keepAcrossPrograms(_ fd: Int32, _ isKept: Bool) {
        _ = fcntl(fd, F_SETFD, isKept ? 0 : FD_CLOEXEC)
    }
}

/// What the previous program in this process has left.
public final class Inheritance: Sendable {
    private let fds: [Handover.Role: Int32]
    /// The file of the listening socket; nil if an older program has left it.
    let socketFile: FileIdentity?

    fileprivate init(_ fds: [Handover.Role: Int32], _ socketFile: FileIdentity?) {
        (self.fds, self.socketFile) = (fds, socketFile)
    }

    /// Whether it includes the listening socket of a path, and the lock beside it.
    public func hasSocket(at path: String) -> Bool {
        guard let listener = fds[.listener], let lock = fds[.lock] else { return false }
        return SocketAddress.isListening(listener, at: path)
            && Self.isOpen(lock, file: SocketLock.path(for: path))
    }

    /// The listening socket, which then belongs to the caller. Ask `hasSocket` first.
    public func takeListener() -> Descriptor? {
        guard let listener = fds[.listener] else { return nil }
        UnixSocket.setBlocking(listener, false)
        return Descriptor(adopting: listener)
    }

    /// The lock beside it; likewise.
    public func takeLock() -> SocketLock? {
        fds[.lock].map { SocketLock(adopting: Descriptor(adopting: $0)) }
    }

    /// The lock of a data folder, if it is one. It then belongs to the caller.
    public func takeLock(ofFolder path: String) -> Descriptor? {
        guard let lock = fds[.journal], Self.isOpen(lock, file: path + "/lock") else { return nil }
        return Descriptor(adopting: lock)
    }

    /// A file with what the previous program kept in memory. It then belongs to the caller. Ask
    /// once for each.
    public func takeFile(_ role: Handover.Role) -> DataFile? {
        fds[role].map { DataFile(adopting: $0) }
    }

    /// Whether a descriptor refers to the file at a path, and holds the lock on it.
    private static func isOpen(_ fd: Int32, file: String) -> Bool {
        FileIdentity(fd: fd) != nil && FileIdentity(fd: fd) == FileIdentity(path: file)
            && retrying { flock(fd, LOCK_EX | LOCK_NB) } == 0
    }
}
