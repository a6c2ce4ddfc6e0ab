// What the hub does by itself, a part at a time, when clients have had their turn.

import PlugboardJournal
import PlugboardMemory

enum Chore {
    /// To forget keys that nobody is owed any more.
    case forget(Backlog)
    /// To pass on a piece of the journal that was read for a subscription.
    case pass(ReadPiece)
    /// To tell tracers what happened.
    case tell(TracedTurn)
    case tellGap(Tracer)
}

extension Hub {
    /// Does some of its chores, a part of one at least.
    mutating func goOnWithChores(until effortEnd: UInt64 = .max) {
        while effort <= effortEnd, let chore = requests.nextChore() {
            switch chore {
            case .forget(let backlog): forget(backlog)
            case .pass(let piece): take(piece)
            case .tell(let traced): tell(traced, until: effortEnd)
            case .tellGap(let tracer): tellGap(of: tracer)
            }
        }
    }

    private mutating func forget(_ backlog: Backlog) {
        var count = 0
        while count < requests.visitsMax, let place = backlog.keys.front {
            let observable = backlog.keys.remove(place).observable
            matching.reach.release(observable)
            matching.forget(observable, &keyspace)
            count += 1
        }
        insight.count(steps: count * Cost.visit)
        if !backlog.keys.isEmpty { requests.add(.forget(backlog)) }
    }
}
