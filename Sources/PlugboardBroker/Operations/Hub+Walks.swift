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
        if let walk = work.finished { return walk.search.present(in: keyspace) }
        let clearance = sessions[session].clearance
        var search = KeySearch(patterns, for: clearance, after: after, countMax: countMax)
        if work.goOn(with: &search, keyspace) { return search.present(in: keyspace) }
        let number = sessions[session].line
        let walk = Walk(request, line, number: number, from: session, search, since: revision)
        swap(&walk.decoder, &decoder)
        sessions[session].isBusy = true
        work.putOff(walk)
        return nil
    }

    /// Goes on with requests that were put off, each for a slice, while the turn has time.
    mutating func goOnWithWalks(until end: UInt64) {
        var first: Walk?
        while let walk = work.next() {
            if work.goOn(with: &walk.search, keyspace) { finish(walk) } else { work.putOff(walk) }
            if effort > end || first === walk { return }
            if first == nil { first = walk }
        }
    }

    /// All that was done since the start, in observers told.
    @inline(__always) var effort: UInt64 {
        own.events &+ work.steps &+ matching.visits
    }

    /// Executes a request that was put off, with what was found.
    private mutating func finish(_ walk: Walk) {
        let session = walk.session
        sessions[session].isBusy = false
        sessions[session].line = walk.number
        delivery.touch(session, &sessions)
        swap(&walk.decoder, &decoder)
        work.beginExecuting(walk)
        let line = walk.line
        execute(walk.request, line.span, from: session)
        work.endExecuting()
    }
}
