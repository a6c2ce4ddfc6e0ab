// Sessions that several tests look at. Playing one takes as long as opening what it leaves, and each test that
// stops at every operation would play all of them again.

import PlugboardPosix
import Synchronization
import TestSupport

/// Sessions with a stop, or a failure, at each of their operations. Each is played once, by the first who asks.
enum PlayedSessions {
    /// What a session left, and what it had promised. Nobody changes the disk.
    struct End: Sendable {
        let disk: SimulatedDisk
        let promised: JournalCrashTests.Promised
    }

    private enum Kind { case stopped, failed, torn }

    private final class Played: Sendable {
        let ends = Mutex<[End]>([])
    }

    private struct Session: Hashable {
        let kind: Kind
        let manner: String
    }

    private static let all = Mutex<[Session: Played]>([:])

    /// The machine, or the program, stops at the operation.
    static func stopped(_ manner: JournalCrashTests.Manner) -> [End] {
        ends(.stopped, manner) { $0.stopsAt = $1 }
    }

    /// The operation fails, with half of what it writes if `torn`.
    static func failed(_ manner: JournalCrashTests.Manner, torn: Bool = false) -> [End] {
        ends(torn ? .torn : .failed, manner) { disk, number in
            disk.refusals[number] = EIO
            disk.tearsRefusedWrites = torn
        }
    }

    private static func ends(
        _ kind: Kind, _ manner: JournalCrashTests.Manner, _ prepare: (SimulatedDisk, Int) -> Void
    ) -> [End] {
        let session = Session(kind: kind, manner: manner.description)
        let played = all.withLock { all in
            let played = all[session] ?? Played()
            all[session] = played
            return played
        }
        // Who asks for the same session meanwhile waits for it.
        return played.ends.withLock { ends in
            if !ends.isEmpty { return ends }
            ends = (0..<JournalCrashTests.operations(manner)).map { number in
                let disk = SimulatedDisk()
                prepare(disk, number)
                return End(disk: disk, promised: JournalCrashTests.play(disk, manner))
            }
            return ends
        }
    }
}
