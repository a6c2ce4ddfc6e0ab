// A disk that is behind what clients write.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardBroker
@testable import PlugboardJournal

@Suite("While the disk is behind", .someAtATime)
struct ThrottleTests {
    private static let waiting = 400_000
    private let disk = SimulatedDisk()
    private let worker: SlowWorker
    private let stage: SiegeStage

    init() throws {
        disk.capacity = 1 << 40
        worker = SlowWorker(disk)
        stage = try SiegeStage(hasSlices: false)
        var options = JournalOptions()
        options.waitingBytes = Self.waiting
        try stage.keepJournal(on: disk, worker, options)
    }

    /// Sends lines of 10 kB, and takes turns without letting time pass. Returns how much was written.
    private func write(_ count: Int, from link: SiegeStage.Link, to key: String) throws -> Int {
        let before = disk.writtenBytes
        let value = String(repeating: "x", count: 10_000)
        for number in 1...count { stage.send("publish \(key) \"\(number) \(value)\"\n", link) }
        for _ in 0..<(2 * count) { try stage.turn() }
        return disk.writtenBytes - before
    }

    /// Does all work that was asked for, and lets so much time pass.
    private func catchUp(nanoseconds: UInt64) throws {
        stage.time.advance(nanoseconds: nanoseconds)
        try stage.turn()
        worker.finish()
        for _ in 0..<20 { try stage.turn() }
    }

    @Test(
        "who writes much isn't read, who writes little is served at once, and all go on when it has caught up"
    )
    func shares() throws {
        let (heavy, light) = (try stage.connect(), try stage.connect())
        let written = try write(100, from: heavy, to: "heavy")
        // What was read in the turn that brought it beyond the limit was written, too.
        let most = Self.waiting + 2 * EventLoop<KernelSockets>.readBytes
        #expect(written > Self.waiting && written < most, "\(written)")
        let reply = try stage.reply(
            to: #"{"op":"publish","id":1,"key":"light","value":1}"# + "\n",
            from: light
        )
        #expect(reply.hasPrefix(#"{"ok":"publish","id":1,"#))
        // Time alone brings a share: 1/200 of a second's.
        for _ in 0..<3 {
            stage.time.advance(nanoseconds: 5_000_000)
            for _ in 0..<4 { try stage.turn() }
        }
        #expect(disk.writtenBytes < most + 2 * EventLoop<KernelSockets>.readBytes)
        for _ in 0..<40 { try catchUp(nanoseconds: 1_000_000_000) }
        try stage.checkInvariants()
        #expect(disk.writtenBytes > 1_000_000)
        #expect(try stage.reply(to: "get heavy\n", from: heavy).contains(#""value":"100 "#))
    }

    @Test("a client that has hung up meanwhile has all its lines executed")
    func hungUp() throws {
        let (heavy, other) = (try stage.connect(), try stage.connect())
        _ = try write(100, from: heavy, to: "heavy")
        stage.close(heavy)
        for _ in 0..<40 { try catchUp(nanoseconds: 1_000_000_000) }
        #expect(try stage.reply(to: "get heavy\n", from: other).contains(#""value":"100 "#))
    }

    @Test("a sync that takes long is told, by how much, and told again when it has taken twice as long")
    func told() throws {
        let link = try stage.connect()
        _ = try stage.reply(to: #"{"op":"publish","id":1,"key":"a","value":1}"# + "\n", from: link)
        var seen: [String] = []
        for second in 1...9 {
            stage.time.advance(nanoseconds: 1_000_000_000)
            for _ in 0..<3 { try stage.turn() }
            let warnings = try stage.reply(to: "get $broker.warnings\n", from: link)
            for match in warnings.matches(of: #/taken (\d+) s by now/#) where !seen.contains("\(match.1)") {
                seen.append("\(match.1)")
                #expect(Int(match.1) ?? 0 <= second)
            }
        }
        #expect(seen == ["2", "4", "8"])
    }
}
