// Finding keys for a request, at once or by turns: see `Walk`.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// The keys with a value that match, in the order of the keys, at most so many. Nil where that takes
    /// longer than others can wait: then the request is put off, so that it must not have changed anything
    /// yet, and is executed again.
    mutating func lookFor(
        _ patterns: [[UInt8]],
        after: [UInt8] = [],
        countMax: Int = .max,
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) -> [ObservableHandle]? {
        if let walk = requests.finished { return walk.search.present(in: keyspace) }
        let clearance = sessions[session].clearance
        var search = KeySearch(patterns, for: clearance, after: after, countMax: countMax)
        if goOn(with: &search) { return search.present(in: keyspace) }
        let number = sessions[session].line
        let walk = Walk(request, line, number: number, from: session, search, since: revision)
        sessions[session].isBusy = true
        requests.putOff(walk)
        return nil
    }

    /// Goes on with a search for a slice. Returns whether it is done.
    private mutating func goOn(with search: inout KeySearch) -> Bool {
        let (isDone, visits) = requests.goOn(with: &search, keyspace)
        insight.count(steps: visits * Self.stepsPerVisit)
        return isDone
    }

    /// What looking at a key costs, in observers that are told an event meanwhile.
    private static let stepsPerVisit = 16

    /// Goes on with requests that were put off, each for a slice, while the turn has time.
    mutating func goOnWithWalks() {
        var first: Walk?
        while let walk = requests.next() {
            if goOn(with: &walk.search) { finish(walk) } else { requests.wait(walk) }
            if hasDoneEnough || first === walk { return }
            if first == nil { first = walk }
        }
    }

    /// All that was done since the start, in observers told.
    @inline(__always) var effort: UInt64 {
        insight.effort &+ matching.visits &+ delivery.judge.steps
    }

    /// Executes a request that was put off, with what was found.
    private mutating func finish(_ walk: Walk) {
        let session = walk.session
        sessions[session].isBusy = false
        sessions[session].line = walk.number
        delivery.touch(session, &sessions)
        requests.beginExecuting(walk)
        let line = walk.line
        execute(walk.request, line.span, from: session)
        requests.endExecuting()
    }
}
