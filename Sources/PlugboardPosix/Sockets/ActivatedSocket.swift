// A listening socket that a service manager made and hands to the program that it starts
// (sd_listen_fds(3)): descriptor 3, if LISTEN_PID is this process. So clients can connect before
// the program runs, and while it restarts.

/// Why a socket that was handed to this process can't be used.
public struct ActivationError: Error, Equatable, CustomStringConvertible {
    public let description: String
}

/// A socket that was handed to this process.
public struct ActivatedSocket: Equatable, Sendable {
    /// The descriptor of the first one.
    public static let firstNumber: Int32 = 3

    /// Its number. The caller has to close it.
    public let number: Int32
    /// Where it listens.
    public let path: String

    /// The socket handed to this process; nil if there is none. The variables that name it are for
    /// this process alone, and are removed from the environment. Throws `ActivationError`.
    public static func take() throws -> ActivatedSocket? {
        let (process, count) = (SocketPath.variable("LISTEN_PID"), SocketPath.variable("LISTEN_FDS"))
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { Environment.remove(name) }
        guard let process, process == "\(getpid())", let count, count != "0" else { return nil }
        guard count == "1" else {
            throw ActivationError(description: "the service manager hands over \(count) sockets, not one")
        }
        guard let path = SocketAddress.path(ofListener: firstNumber) else {
            throw ActivationError(
                description: "what the service manager hands over is no listening Unix socket with a path"
            )
        }
        _ = fcntl(firstNumber, F_SETFD, FD_CLOEXEC)
        return ActivatedSocket(number: firstNumber, path: path)
    }

    /// Makes this process the one that its parent meant with LISTEN_FDS.
    public static func claim() {
        if SocketPath.variable("LISTEN_FDS") != nil { Environment.set("LISTEN_PID", "\(getpid())") }
    }
}
