// The time of a played session. It passes with each turn and with each sync, as far as a seed says, so that
// each run takes the same decisions. Most syncs are quick; after many in a row the loop itself syncs.

import PlugboardPosix
import TestSupport

/// A simulated time that a seed moves on. A session owns it.
final class PlayedClock {
    private let time = SimulatedTime()
    private var random = SeededRandom(seed: 27)

    /// Lets time pass whenever this disk syncs a file. One sync in fifty is slow.
    init(_ disk: SimulatedDisk) {
        disk.beforeSync = { [self] in
            let isSlow = random.oneIn(50)
            time.advance(nanoseconds: isSlow ? 2_000_000 : 10_000 + random.next() % 900_000)
        }
    }

    var source: TimeSource { TimeSource(time) }

    /// Lets some time pass, at least a nanosecond.
    func pass() {
        time.advance(nanoseconds: 1 + random.next() % 1_000_000)
    }
}
