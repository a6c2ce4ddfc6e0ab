// The terminal that a program belongs to, whatever its streams are. When the terminal is closed the
// system sends SIGHUP. People also send SIGHUP to a service so that it reads its files again.
// Whether the terminal is gone tells the two apart.

/// The terminal that this program was started at, if any.
public struct ControllingTerminal: Sendable {
    private let wasThere: Bool

    /// As it is now, at the program's start.
    public init() {
        wasThere = Self.state == .there
    }

    /// There was one, and it has been closed: the person who started the program has left.
    public var isGone: Bool { wasThere && Self.state == .none }

    private enum State {
        case there, none
        /// It isn't known, perhaps because no descriptor is free.
        case unknown
    }

    private static var state: State {
        let fd = PathCalls.openFile("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard fd < 0 else {
            close(fd)
            return .there
        }
        return errno == ENXIO ? .none : .unknown
    }
}
