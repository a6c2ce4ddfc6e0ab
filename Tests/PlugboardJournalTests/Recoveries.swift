// What it comes to when a disk is opened. The same files always come to the same, and a crash
// leaves the same ones again and again: each is opened once, and each promise is still held
// against what came of it.

import PlugboardPosix
import TestSupport

/// Recoveries by what was on the disk. All disks are as they are after a power cut: all is safe.
final class Recoveries {
    struct Outcome {
        let found: Result<(state: State, epoch: String), any Error>
        /// What the disk was asked to do.
        let operations: Int
    }
    private struct Attempt: Hashable {
        let files: Int
        let boot: String
        let stop: Int
    }
    private var outcomes: [Attempt: Outcome] = [:]
    private var stopped: [Attempt: SimulatedDisk] = [:]
    /// Of disks that are kept: some kilobytes each.
    private static let stoppedMax = 10_000

    /// Opens a disk, after a start of the machine.
    func outcome(of disk: SimulatedDisk, boot: String) -> Outcome {
        let attempt = Attempt(files: disk.fingerprint, boot: boot, stop: .max)
        if let known = outcomes[attempt] { return known }
        let copy = disk.afterKill()
        let found = Result<(state: State, epoch: String), any Error> {
            let journal = try TestJournal(copy, boot: boot, newEpoch: "e2")
            return (journal.state, journal.epoch)
        }
        let outcome = Outcome(found: found, operations: copy.operations)
        outcomes[attempt] = outcome
        return outcome
    }

    /// The disk of a machine that stops while a disk is opened, at one of its operations.
    func stopped(_ disk: SimulatedDisk, boot: String, at stop: Int) -> SimulatedDisk {
        let attempt = Attempt(files: disk.fingerprint, boot: boot, stop: stop)
        if let known = stopped[attempt] { return known }
        let copy = disk.afterKill()
        copy.stopsAt = stop
        _ = try? TestJournal(copy, boot: boot, newEpoch: "e2")
        if stopped.count >= Self.stoppedMax { stopped.removeAll() }
        stopped[attempt] = copy
        return copy
    }
}
