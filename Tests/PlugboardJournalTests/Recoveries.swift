// The results of opening disks. The same files always give the same result, and crashes
// leave the same files again and again. So each is opened once, and all promises are
// compared with its result.

import PlugboardPosix
import TestSupport

/// Recoveries by the contents of the disk. What is found doesn't depend on which of them are safe.
final class Recoveries {
    struct Outcome {
        let found: Result<(state: State, epoch: String), any Error>
        /// What the disk was asked to do.
        let operations: Int
    }
    private struct Attempt: Hashable {
        let files: Int
        let boot: String
    }
    private var outcomes: [Attempt: Outcome] = [:]
    private var stops: [Attempt: [SimulatedDisk]] = [:]
    /// How many openings have their stops kept. Each has some twenty disks of some kilobytes.
    private static let stopsMax = 500

    /// Opens a disk.
    func outcome(of disk: SimulatedDisk, boot: String) -> Outcome {
        let attempt = Attempt(files: disk.fingerprint, boot: boot)
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

    /// The disks of a machine that stops while a disk is opened, at each of its operations. Everything on it
    /// must be safe, as after a power cut.
    func stops(of disk: SimulatedDisk, boot: String) -> [SimulatedDisk] {
        let attempt = Attempt(files: disk.fingerprint, boot: boot)
        if let known = stops[attempt] { return known }
        let copy = disk.afterKill()
        var left: [SimulatedDisk] = []
        copy.atStop = { left.append($0) }
        _ = try? TestJournal(copy, boot: boot, newEpoch: "e2")
        if stops.count >= Self.stopsMax { stops.removeAll() }
        stops[attempt] = left
        return left
    }
}
