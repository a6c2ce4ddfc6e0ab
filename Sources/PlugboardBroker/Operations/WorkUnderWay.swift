// What takes longer than a turn, and how much was done in this one: so that a turn stays short, whoever asks
// for what. What always holds: a client has one walk at most, and is busy exactly as long.

import PlugboardMemory
import PlugboardWire

/// The work of the hub that is under way. Used by the loop's thread alone.
struct WorkUnderWay: ~Copyable {
    /// Keys that one request looks at before others have their turn: about a millisecond.
    static let visitsPerSlice = 4_096
    /// What looking at a key costs, in observers that are told an event meanwhile.
    private static let stepsPerVisit: UInt64 = 16

    /// Who is told again what the journal has.
    var replays = ReplayTable()
    /// The same as the constant but in tests.
    var visitsMax = visitsPerSlice
    /// Everything that was done beside telling events, in steps that take as long as telling one observer.
    private(set) var steps: UInt64 = 0
    private var walks: [Walk] = []
    /// The walk whose request is executed now.
    private(set) var finished: Walk?

    init() {}

    var isEmpty: Bool { walks.isEmpty }

    /// Counts what was done for a request.
    mutating func count(steps: Int) { self.steps &+= UInt64(steps) }

    /// Goes on with a search for a slice. Returns whether it is done.
    mutating func goOn(with search: inout KeySearch, _ keyspace: borrowing Keyspace) -> Bool {
        var visits = visitsMax
        let isDone = search.goOn(keyspace, &visits)
        steps &+= UInt64(visitsMax - visits) &* Self.stepsPerVisit
        return isDone
    }

    /// Puts a walk off, behind those that wait.
    mutating func putOff(_ walk: Walk) { walks.append(walk) }

    /// The walk whose turn it is.
    mutating func next() -> Walk? { walks.isEmpty ? nil : walks.removeFirst() }

    /// All was found for a walk, and its request is executed now.
    mutating func beginExecuting(_ walk: Walk) { finished = walk }

    mutating func endExecuting() { finished = nil }

    /// A client ends, and with it what it asked for.
    mutating func cancel(of session: SessionHandle) { walks.removeAll { $0.session == session } }

    func checkInvariants(
        _ living: borrowing Living,
        _ sessions: borrowing SessionTable
    ) throws(BrokenInvariant) {
        let always = Invariants(of: "WorkUnderWay")
        let walking = Set(walks.map(\.session))
        try always.agree("a client has one walk at most", walks.count, walking.count)
        try always.hold("nothing is executed between turns", finished == nil)
        for session in living.sessions {
            let (client, isBusy) = ("client \(sessions[session].client)", sessions[session].isBusy)
            try always.agree("who is busy walks", isBusy, walking.contains(session), of: client)
        }
    }
}
