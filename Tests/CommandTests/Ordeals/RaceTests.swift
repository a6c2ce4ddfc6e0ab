// Two brokers start for one path at the same time. One serves, and the other says why it doesn't.

import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("races for a path", .someAtATime, .serialized)
struct RaceTests {
    @Test(
        "of two brokers for one path, one serves and the other ends, whatever was there before",
        .timeLimit(.minutes(10))
    )
    func races() throws {
        let folder = try TemporaryFolder()
        let rounds = LongSuite.count(500, quick: 10)
        for round in 0..<rounds {
            let arguments = ["broker", "--memory", "--ready", "--socket", folder.socket]
            let both = [try Run(arguments, in: folder), try Run(arguments, in: folder)]
            try eventually("one serves, one has ended") {
                both.count { $0.output == "ready\n" } == 1 && both.count { !$0.isRunning } == 1
            }
            for run in both where !run.isRunning {
                let finished = try run.finished()
                #expect(finished.end != .exited(0))
                #expect(finished.messages.contains("another broker is running at \(folder.socket)"))
            }
            #expect(try LinePeer(path: folder.socket).text().hasPrefix(#"{"event":"hello""#))
            // Every other winner leaves its socket for the next two brokers.
            for run in both where run.isRunning {
                run.signal(round % 2 == 0 ? SIGKILL : SIGTERM)
                _ = try run.finished()
            }
        }
        LongSuite.print("\(rounds) races of two brokers for one path: always one winner")
    }
}
