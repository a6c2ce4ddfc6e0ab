// Memory that is free goes back to the system, half a second after something large has ended.

import PlugboardPosix

extension EventLoop {
    private static var tidyNanoseconds: UInt64 { 500_000_000 }

    /// From now on. The process is to be the broker's own.
    mutating func beginTidying() {
        HeapMemory.returnLarge()
        isTidying = true
    }

    /// Something has ended that may have had much memory.
    mutating func noteFreed() {
        if isTidying, tidyTime == nil { tidyTime = time.nanoseconds() &+ Self.tidyNanoseconds }
    }

    /// Gives memory back, if it is time for that. Another thread does: it takes long.
    mutating func tidy() {
        guard let due = tidyTime, time.nanoseconds() >= due else { return }
        tidyTime = nil
        hub.delivery.releaseSpare()
        try? Background.start { HeapMemory.giveBack() }
    }
}
