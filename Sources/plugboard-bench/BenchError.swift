// Why a measurement ended early. What the system refused is a `SystemError`.

/// A measurement that could not be finished.
enum BenchError: Error, Equatable, CustomStringConvertible {
    /// The server closed a connection.
    case closed
    /// Nothing moved for too long; what was waited for.
    case stalled(String)
    /// The server answered something else.
    case unexpected(String)
    /// A signal asked to stop.
    case interrupted
    /// No row has that name.
    case unknownWorkload(String)

    var description: String {
        switch self {
        case .closed: "the server closed a connection"
        case .stalled(let what): "nothing moved for too long: \(what)"
        case .unexpected(let what): "unexpected answer: \(what)"
        case .interrupted: "interrupted"
        case .unknownWorkload(let name): "no row's name contains \"\(name)\""
        }
    }
}
