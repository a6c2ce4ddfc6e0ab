// Memory that is free goes back to the system: half a second after something large has ended, and some of it
// already while very many keys go.

import PlugboardPosix

extension EventLoop {
    private static var tidyNanoseconds: UInt64 { 500_000_000 }
    /// The memory of very many keys goes a part at a time: who allocates waits for that.
    private static var tidyOfKeysNanoseconds: UInt64 { 50_000_000 }

    /// Switches this on. The process must be the broker's own.
    mutating func beginTidying() {
        HeapMemory.returnLarge()
        isTidying = true
    }

    /// Something has ended that may have had much memory.
    mutating func noteFreed() { tidy(after: Self.tidyNanoseconds) }

    private mutating func tidy(after nanoseconds: UInt64) {
        if isTidying { tidyTime = min(tidyTime ?? .max, time.nanoseconds() &+ nanoseconds) }
    }

    /// Gives memory back if it is time: a piece of the tables in each turn, and at last the heap's in another
    /// thread, because that takes long.
    mutating func tidy() {
        noteFewerKeys()
        guard let due = tidyTime, time.nanoseconds() >= due else { return }
        guard !hub.requests.isForgetting, shrink() else { return tidyTime = due &+ Self.pieceNanoseconds }
        tidyTime = nil
        hub.delivery.releaseSpare()
        try? Background.start { HeapMemory.giveBack() }
    }

    /// Returns whether the tables have nothing more to give back.
    private mutating func shrink() -> Bool {
        let visits = Self.visitsPerPiece
        let areKeysDone = hub.keyspace.shrink(visits: visits)
        let areDeadlinesDone = hub.deadlines.shrink(visits: visits)
        return hub.matching.shrink(visits: visits, &hub.keyspace) && areKeysDone && areDeadlinesDone
    }

    private mutating func noteFewerKeys() {
        let count = hub.keyspace.count
        if count > keysMost { keysMost = count }
        guard count + Self.fewerKeys < keysMost else { return }
        keysMost = count
        tidy(after: Self.tidyOfKeysNanoseconds)
    }

    /// How many places of the tables are looked at in such a turn, and how long the bus has for itself until
    /// the next one.
    private static var visitsPerPiece: Int { 16_384 }
    private static var pieceNanoseconds: UInt64 { 1_000_000 }
    /// If so many keys fewer are there, memory is given back.
    private static var fewerKeys: Int { 65_536 }
}
