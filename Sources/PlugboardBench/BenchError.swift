// Why a measurement ended early. What the system refused is a `SystemError`.

/// A measurement that could not be finished.
public enum BenchError: Error, Equatable, CustomStringConvertible {
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
    /// One of the above, and where it happened.
    indirect case failed(workload: String, system: String, BenchError)

    public var description: String {
        switch self {
        case .closed: "the server closed a connection"
        case .stalled(let what): "nothing moved for too long: \(what)"
        case .unexpected(let what): "unexpected answer: \(what)"
        case .interrupted: "interrupted"
        case .unknownWorkload(let name): "no workload's name contains \"\(name)\""
        case .failed(let workload, let system, let error): "\(workload), \(system): \(error)"
        }
    }
}

extension BenchError {
    /// Says where an error of `body` came from.
    static func naming<Result>(_ workload: Workload, _ dialect: any Dialect, _ body: () throws -> Result)
        throws -> Result
    {
        do {
            return try body()
        } catch BenchError.interrupted {
            throw BenchError.interrupted
        } catch let error as BenchError {
            throw BenchError.failed(workload: workload.name, system: dialect.name, error)
        }
    }
}
