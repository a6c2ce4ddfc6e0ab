// Which connections have something to do, and in which order. A connection stands in one queue at most, and has a set
// of errands. Whoever sends little comes before those that may take long.

import PlugboardMemory

/// What a connection is still to do. Each goes on where it stopped.
struct Errands: OptionSet {
    let rawValue: UInt8

    static let read = Errands(rawValue: 1)
    /// To go on with lines that it holds. Nothing is read before that.
    static let lines = Errands(rawValue: 2)
    /// To go on with a request that was put off.
    static let request = Errands(rawValue: 4)
    /// To be sent more of what it is owed.
    static let owed = Errands(rawValue: 8)
    /// To be closed. The keys and subscriptions of its client end first.
    static let close = Errands(rawValue: 16)
}

/// The clients whose connections have something to do.
struct RunQueue: ~Copyable {
    enum Part {
        /// Those that send little. They are heard first.
        case prompt
        /// Those that have something to do which may take long.
        case patient
    }

    private var prompt = List<SessionHandle>(reserving: 64)
    private var patient = List<SessionHandle>(reserving: 64)

    /// The last turn had no time for all of the prompt.
    private(set) var isCrowded = false

    var isEmpty: Bool { patient.isEmpty && prompt.isEmpty }

    subscript(part: Part) -> List<SessionHandle> {
        _read { if part == .prompt { yield prompt } else { yield patient } }
        _modify { if part == .prompt { yield &prompt } else { yield &patient } }
    }

    /// Removes those that had their slice.
    mutating func removeFirst(_ count: Int, of part: Part) {
        self[part].removeFirst(count)
        if part == .prompt { isCrowded = !prompt.isEmpty }
    }

    /// Puts a connection at the end of a queue, unless it is in one, and adds to what it does.
    mutating func add(_ connection: Connection, _ errands: Errands, to part: Part = .patient) {
        if errands.isEmpty { return }
        if connection.todo.isEmpty { self[part].append(connection.session) }
        connection.todo.formUnion(errands)
    }

    /// For checks.
    var all: Set<SessionHandle> { Set(patient.all).union(prompt.all) }
}
