// Requests that take longer than others can wait for go on by turns: see `Walk`.

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
        if case .keys(let search)? = requests.finished?.work { return search.present(in: keyspace) }
        let clearance = sessions[session].clearance
        var search = KeySearch(patterns, for: clearance, after: after, countMax: countMax)
        if goOn(with: &search) { return search.present(in: keyspace) }
        putOff(request, line, session, .keys(search))
        return nil
    }

    /// The values that a subscription begins with, owed already. Nil where the request is put off.
    mutating func prepareSnapshot(
        of wanted: [ByteRange],
        _ filter: Filter?,
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) -> ValueSnapshot? {
        if case .snapshot(let snapshot)? = requests.finished?.work { return snapshot }
        let patterns = wanted.map { Array($0.bytes(of: line)) }
        let snapshot = ValueSnapshot(of: patterns, for: sessions[session].clearance, filter, keyspace)
        if goOn(with: snapshot) { return snapshot }
        putOff(request, line, session, .snapshot(snapshot))
        return nil
    }

    private mutating func putOff(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle,
        _ work: WalkWork
    ) {
        let number = sessions[session].line
        sessions[session].isBusy = true
        requests.putOff(Walk(request, line, number: number, from: session, work))
    }

    // MARK: Slices

    /// Goes on with a request for a slice. Returns whether it can be executed.
    private mutating func goOn(with walk: Walk) -> Bool {
        switch walk.work {
        case .keys(var search):
            let isDone = goOn(with: &search)
            walk.work = .keys(search)
            return isDone
        case .snapshot(let snapshot):
            guard snapshot.isLost(keyspace) else { return goOn(with: snapshot) }
            requests.abandonSnapshot(of: walk)
            walk.work = .snapshot(snapshot.anew(keyspace))
            return false
        }
    }

    private mutating func goOn(with search: inout KeySearch) -> Bool {
        let (isDone, visits) = requests.goOn(with: &search, keyspace)
        insight.count(steps: visits * Self.stepsPerVisit)
        return isDone
    }

    private mutating func goOn(with snapshot: ValueSnapshot) -> Bool {
        let whole = requests.allowance
        var rest = whole
        let isDone = snapshot.goOn(&keyspace, &delivery, &rest)
        let done = max(0, whole.visits - rest.visits) + max(0, whole.keys - rest.keys)
        insight.count(steps: done * Self.stepsPerVisit)
        return isDone
    }

    /// What looking at a key costs, and owing it, in observers that are told an event meanwhile.
    private static let stepsPerVisit = 16

    /// Goes on with requests that were put off, each for a slice, while the turn has time.
    mutating func goOnWithWalks() {
        insight.count(steps: requests.forgetAbandoned(&keyspace) * Self.stepsPerVisit)
        var first: Walk?
        while let walk = requests.next() {
            if goOn(with: walk) { finish(walk) } else { requests.wait(walk) }
            if hasDoneEnough || first === walk { return }
            if first == nil { first = walk }
        }
    }

    /// All that was done since the start, in observers told. A visit in the pattern tree costs two.
    @inline(__always) var effort: UInt64 {
        insight.effort &+ 2 &* matching.visits &+ delivery.judge.steps
    }

    /// Executes a request that was put off, with what was found.
    private mutating func finish(_ walk: Walk) {
        let session = walk.session
        sessions[session].isBusy = false
        sessions[session].line = walk.number
        delivery.touch(awaited: session, &sessions)
        requests.beginExecuting(walk)
        let line = walk.line
        execute(walk.request, line.span, from: session)
        requests.endExecuting()
        // Where it was refused after all, nobody has taken what it owed.
        requests.abandonSnapshot(of: walk)
    }
}
