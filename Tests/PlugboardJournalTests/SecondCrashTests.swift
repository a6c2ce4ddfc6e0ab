// A crash of the machine, and another one while what it left is recovered.

import TestSupport
import Testing

extension JournalCrashTests {
    @Test(.timeLimit(.minutes(20)), arguments: Manner.all)
    func `a machine that stops at any operation, twice, loses nothing that was safe`(manner: Manner) {
        var random = SeededRandom(seed: 7)
        var states = 0
        let recoveries = Recoveries()
        let choices = LongSuite.count(16, quick: 4)
        for (number, stop) in PlayedSessions.stopped(manner).enumerated() {
            for choice in 0..<choices {
                let first = stop.disk.afterPowerCut { count in Self.choose(choice, count, &random) }
                states += Self.recoverWithCrashes(
                    first, stop.promised, "stopped at \(number), \(choice)", recoveries, &random
                )
            }
        }
        #expect(states > LongSuite.count(20_000, quick: 2_000))
        LongSuite.print("\(states) states after two crashes of the machine, synced \(manner)")
    }

    /// The disks that a run gives to `atStop` are those that runs leave that stop at each of its operations.
    @Test(arguments: [Manner.always, .seldom, Manner(syncs: .late)])
    func `a machine that stops leaves what was kept of one that did not`(manner: Manner) {
        var (ends, random) = (0, SeededRandom(seed: 19))
        for (number, stop) in PlayedSessions.stopped(manner).enumerated() where number % 7 == 3 {
            let left = stop.disk.afterPowerCut { count in Self.choose(number, count, &random) }
            for (place, kept) in Recoveries().stops(of: left, boot: "boot-2").enumerated() {
                let stopped = left.afterKill()
                stopped.stopsAt = place
                _ = try? TestJournal(stopped, boot: "boot-2", newEpoch: "e2")
                for choice in 0..<3 {
                    let left = [kept, stopped].map { $0.afterPowerCut { choice % $0 }.fingerprint }
                    #expect(left[0] == left[1], "stopped at \(number), then at \(place)")
                    ends += 1
                }
            }
        }
        #expect(ends > 100)
    }

    /// Stops at every operation of the recovery, too.
    private static func recoverWithCrashes(
        _ disk: SimulatedDisk,
        _ promised: Promised,
        _ place: String,
        _ recoveries: Recoveries,
        _ random: inout SeededRandom
    ) -> Int {
        let whole = recoveries.outcome(of: disk, boot: "boot-2")
        if let complaint = complaint(whole.found, promised, least: promised.safe) {
            Issue.record("\(place): \(complaint)")
        }
        let stops = recoveries.stops(of: disk, boot: "boot-2")
        #expect(stops.count == whole.operations)
        for (stop, second) in stops.enumerated() {
            let third = second.afterPowerCut { count in Int(random.next() % UInt64(count)) }
            let again = recoveries.outcome(of: third, boot: "boot-3")
            if let complaint = complaint(again.found, promised, least: promised.safe) {
                Issue.record("\(place), then at \(stop): \(complaint)")
            }
        }
        return whole.operations + 1
    }
}
