// Very many idle clients, and an observer that stops reading while others work.

import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("crowds and sleepers", .someAtATime, .serialized)
struct CrowdTests {
    @Test("idle connections cost no time and little memory")
    func idle() throws {
        let count = LongSuite.count(10_000, quick: 500)
        let folder = try TemporaryFolder()
        let broker = try startBroker(in: folder, "--memory")
        let served = try LinePeer(path: folder.socket)
        _ = try served.text()
        let before = try residentBytes(of: broker.pid)
        let crowd = try (0..<count).map { _ in
            let peer = try LinePeer(path: folder.socket)
            _ = try peer.text()
            return peer
        }
        let bytes = (try residentBytes(of: broker.pid) - before) / count
        let ticks = Processes.ticks(broker.pid)
        Pause.sleep(seconds: LongSuite.isOn ? 5 : 0.2)
        let used = Processes.ticks(broker.pid) - ticks
        #expect(used <= 10)
        var worst: UInt64 = 0
        for round in 1...200 {
            let start = MonotonicClock.nanoseconds()
            try served.send(Array("publish k \(round)\n".utf8))
            #expect(try served.text() == #"{"ok":"publish","revision":\#(round)}"#)
            worst = max(worst, MonotonicClock.nanoseconds() - start)
        }
        #expect(crowd.count == count)
        LongSuite.print(
            "\(count) idle connections: \(bytes) bytes each, \(used) ticks in 5 s, others answered within \(worst / 1_000) µs"
        )
    }

    @Test(
        "an observer that stops under full load costs no memory and disturbs nobody", .timeLimit(.minutes(5))
    )
    func sleeper() throws {
        let folder = try TemporaryFolder()
        let broker = try startBroker(in: folder, "--memory")
        #expect(try plugboard("publish", "k.0", "1", in: folder).end == .exited(0))
        let sleeper = try Run(["subscribe", "--json", "k.**"], in: folder)
        try eventually("it observes") { sleeper.output.contains(#""key":"k.0""#) }
        sleeper.signal(SIGSTOP)
        let writer = try LinePeer(path: folder.socket)
        _ = try writer.text()
        let observer = try LinePeer(path: folder.socket)
        _ = try observer.text()
        try observer.send(Array("subscribe k.7\n".utf8))
        #expect(try observer.text().hasPrefix(#"{"ok":"subscribe""#))
        #expect(try observer.text().hasPrefix(#"{"event":"synced""#))
        let seconds: UInt64 = LongSuite.isOn ? 60 : 1
        let end = MonotonicClock.nanoseconds() + seconds * 1_000_000_000
        var (round, told, early) = (0, 0, 0)
        let padding = String(repeating: "x", count: 200)
        while MonotonicClock.nanoseconds() < end {
            round += 1
            try writer.send((0..<100).flatMap { Array("publish k.\($0) \"\(round) \(padding)\"\n".utf8) })
            for _ in 0..<100 { _ = try writer.text() }
            told += observer.available().count
            if round == 200 { early = try residentBytes(of: broker.pid) }
        }
        let grown = (try residentBytes(of: broker.pid) - early) / 1_048_576
        if round > 400 { #expect(grown < 24) }
        try eventually("the other was told everything") {
            told += observer.available().count
            return told >= round
        }
        #expect(told == round)
        sleeper.signal(SIGCONT)
        let newest = (0..<100).map { "\"k.\($0)\",\"revision\":\((round - 1) * 100 + $0 + 2)," }
        // The newest comes last. To search all of the text for each key takes minutes on a busy machine.
        try eventually("it is told the newest key") { sleeper.output.suffix(2_048).contains(newest[99]) }
        let text = sleeper.output
        #expect(newest.allSatisfy { text.contains($0) }, "it is told the newest of each key")
        LongSuite.print(
            "an observer stopped for \(seconds) s, \(round * 100) writes meanwhile: \(grown) MB more, everything newest told afterwards"
        )
    }

    private func residentBytes(of pid: Int32) throws -> Int {
        let text = String(
            decoding: try InputFile.contents(path: "/proc/\(pid)/statm", limit: 4_096), as: UTF8.self
        )
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0)
            * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
