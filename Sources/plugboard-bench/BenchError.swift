// Why a measurement ended early. Errors of the system are thrown as `SystemError`. If a peer fails, only
// its own figures are missing. An interruption ends the bench.

/// A measurement that could not be finished.
enum BenchError: Error, Equatable, CustomStringConvertible {
    /// The server closed a connection.
    case closed
    /// Nothing moved for too long. The text says what was awaited.
    case stalled(String)
    /// The server answered something unexpected.
    case unexpected(String)
    /// A signal asked the bench to stop.
    case interrupted
    /// No row has this name.
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
