// The connection to the bus that a plugin finds when it begins: an open descriptor, whose number is
// in a variable. The parent makes it in the plugin's own process, and a second variable has that
// process's number. Only that process takes it, and in it the first caller, because one connection
// has one owner. Programs that the plugin starts inherit both variables and the descriptor, and have
// to connect by themselves.

import Synchronization

/// The connection that this process was started with.
public enum InheritedConnection {
    /// The variable with the descriptor's number.
    public static let variable = "PLUGBOARD_FD"
    /// The variable with the number of the process that it is for.
    public static let processVariable = "PLUGBOARD_FD_PID"

    private static let isTaken = Mutex(false)

    /// The connection to the bus at `path`, for the first caller; nil if there is none, if it is
    /// another process's, or if another user than these runs the broker. It is non-blocking, and
    /// children don't inherit it any more.
    public static func take(path: String, trusting users: TrustedUsers = .own) -> Descriptor? {
        let isFirst = isTaken.withLock { taken in
            defer { taken = true }
            return !taken
        }
        guard isFirst, path == SocketPath.standard(),
            SocketPath.variable(processVariable) == "\(getpid())",
            let number = number(SocketPath.variable(variable)),
            SocketAddress.isConnected(number, to: path),
            let peer = PeerIdentity(of: number), users.contains(peer.user)
        else { return nil }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        UnixSocket.setBlocking(number, false)
        return Descriptor(adopting: number)
    }

    /// Makes one for the program that this process is about to become, and sets the variables. False
    /// if nobody answers at `path`: then the program has to connect by itself.
    public static func leave(path: String) -> Bool {
        Environment.remove(variable)
        guard let connection = try? UnixSocket.connect(path: path) else { return false }
        let number = fcntl(connection.raw, F_DUPFD, firstNumber)
        guard number >= 0 else { return false }
        UnixSocket.setBlocking(number, true)
        Environment.set(variable, "\(number)")
        Environment.set(processVariable, "\(getpid())")
        return true
    }

    private static let firstNumber: Int32 = 3

    private static func number(_ text: String?) -> Int32? {
        guard let text, let number = Int32(text), number >= firstNumber else { return nil }
        return number
    }
}
