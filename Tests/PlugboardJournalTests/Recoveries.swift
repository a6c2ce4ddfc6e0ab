// The results of opening disks. The same files always give the same result, and crashes
// leave the same files again and again. So each is opened once, and all promises are
// compared with its result.

import PlugboardPosix
import TestSupport

/// Recoveries by the contents of the disk. All disks are as after a power cut: everything
/// on them is safe.
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
    /// The number of disks that are kept, some kilobytes each.
    private static let stoppedMax = 10_000

    /// Opens a disk after a start of the machine.
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

    /// The disk of a machine that stops while it opens a disk, at one of its operations.
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
