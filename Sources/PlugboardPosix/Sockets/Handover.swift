// What a program leaves to the one that takes its place in the same process: descriptors that
// stay open across it, their numbers in a variable. Who takes them looks whether they are
// what they are called, since anybody can set a variable.

/// Descriptors on their way from one program to the next.
public enum Handover {
    /// What a descriptor is for.
    public enum Role: String, CaseIterable, Sendable {
        case listener, lock, journal, state, writes, policy, rights
    }

    /// The variable with their numbers, such as `listener=5,lock=4`.
    public static let variable = "PLUGBOARD_HANDOVER"

    /// These variables, which this program is to take out of its environment.
    public static func variables(_ names: [String]) -> [String: String] {
        var values: [String: String] = [:]
        for name in names { values[name] = SocketPath.variable(name) }
        return values
    }

    /// Leaves descriptors to the next program, which who calls owns until there is one, and variables.
    public static func leave(_ fds: [Role: Int32], variables: [String: String] = [:]) {
        for (name, value) in variables { setenv(name, value, 1) }
        for fd in fds.values { keepAcrossPrograms(fd, true) }
        let entries = Role.allCases.compactMap { role in fds[role].map { "\(role.rawValue)=\($0)" } }
        setenv(variable, entries.joined(separator: ","), 1)
    }

    /// Takes that back, where there was no next program.
    public static func withdraw(_ fds: [Role: Int32], variables: [String: String] = [:]) {
        for name in variables.keys { unsetenv(name) }
        unsetenv(variable)
        for fd in fds.values { keepAcrossPrograms(fd, false) }
    }

    /// What this program was left, once. Nobody it starts inherits any of it.
    public static func take() -> Inheritance? {
        guard let text = SocketPath.variable(variable) else { return nil }
        unsetenv(variable)
        var fds: [Role: Int32] = [:]
        for entry in text.split(separator: ",") {
            let parts = entry.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let role = Role(rawValue: String(parts[0])), let fd = Int32(parts[1]),
                fd > STDERR_FILENO, !fds.values.contains(fd), fcntl(fd, F_GETFD) >= 0
            else { return nil }
            fds[role] = fd
        }
        for fd in fds.values { keepAcrossPrograms(fd, false) }
        return Inheritance(fds)
    }

    private static func keepAcrossPrograms(_ fd: Int32, _ isKept: Bool) {
        _ = fcntl(fd, F_SETFD, isKept ? 0 : FD_CLOEXEC)
    }
}

/// What a program was left by the one before it in its process.
public final class Inheritance: Sendable {
    private let fds: [Handover.Role: Int32]

    fileprivate init(_ fds: [Handover.Role: Int32]) {
        self.fds = fds
    }

    /// Whether the listening socket of a path, and the lock beside it, are among it.
    public func hasSocket(at path: String) -> Bool {
        guard let listener = fds[.listener], let lock = fds[.lock] else { return false }
        return SocketAddress.isListening(listener, at: path) && Self.isOpen(lock, file: path + ".lock")
    }

    /// The listening socket, which is the caller's then. Ask `hasSocket` first.
    public func takeListener() -> Descriptor? {
        guard let listener = fds[.listener] else { return nil }
        UnixSocket.setBlocking(listener, false)
        return Descriptor(adopting: listener)
    }

    /// The lock beside it; likewise.
    public func takeLock() -> SocketLock? {
        fds[.lock].map { SocketLock(adopting: Descriptor(adopting: $0)) }
    }

    /// The lock of a data folder, if it is that; the caller's then.
    public func takeLock(ofFolder path: String) -> Descriptor? {
        guard let lock = fds[.journal], Self.isOpen(lock, file: path + "/lock") else { return nil }
        return Descriptor(adopting: lock)
    }

    /// A file with what the program before kept in memory; the caller's then. Ask once for each.
    public func takeFile(_ role: Handover.Role) -> DataFile? {
        fds[role].map { DataFile(adopting: $0) }
    }

    /// Whether a descriptor is of the file at a path, and the lock on it is held through it.
    private static func isOpen(_ fd: Int32, file: String) -> Bool {
        FileIdentity(fd: fd) != nil && FileIdentity(fd: fd) == FileIdentity(path: file)
            && retrying { flock(fd, LOCK_EX | LOCK_NB) } == 0
    }
}
