// Gives free memory back to the system, half a second after something large has ended.

import PlugboardPosix

extension EventLoop {
    private static var tidyNanoseconds: UInt64 { 500_000_000 }

    /// Switches this on. The process must be the broker's own.
    mutating func beginTidying() {
        HeapMemory.returnLarge()
        isTidying = true
    }

    /// Something has ended that may have had much memory.
    mutating func noteFreed() {
        if isTidying, tidyTime == nil { tidyTime = time.nanoseconds() &+ Self.tidyNanoseconds }
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
        let isDone = hub.keyspace.shrink(visits: Self.visitsPerPiece)
        return hub.matching.shrink(visits: Self.visitsPerPiece, &hub.keyspace) && isDone
    }

    private mutating func noteFewerKeys() {
        let count = hub.keyspace.count
        if count > keysMost { keysMost = count }
        guard count + Self.fewerKeys < keysMost else { return }
        keysMost = count
        noteFreed()
    }

    /// How many places of the tables are looked at in such a turn, and how long the bus has for itself until
    /// the next one.
    private static var visitsPerPiece: Int { 16_384 }
    private static var pieceNanoseconds: UInt64 { 1_000_000 }
    /// If so many keys fewer are there, memory is given back.
    private static var fewerKeys: Int { 65_536 }
}
