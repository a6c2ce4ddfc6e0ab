// Several brokers, one after the other, on one journal, with real sockets and files.

import Foundation
import PlugboardBroker
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite("What is kept", .someAtATime, .serialized)
struct JournalBrokerTests {
    private let home: TemporaryFolder
    private var folder: String { home.path }

    init() throws {
        home = try TemporaryFolder(named: "pj")
    }

    /// Runs a broker on the journal, and stops it after `body`.
    private func withBroker(_ options: JournalOptions = JournalOptions(), _ body: (TestBroker) throws -> Void)
        throws
    {
        try TestBroker.run(state: folder + "/state", options, body)
    }

    /// Ways to lose the journal's files.
    enum Loss: CaseIterable { case folder, files, moved }

    @Test("while the journal's files are gone, no durable write is said to be kept", arguments: Loss.allCases)
    func gone(loss: Loss) throws {
        try withBroker { broker in
            let client = try broker.client()
            let durable = #"{"op":"publish","id":1,"key":"a","value":1,"durable":true}"#
            #expect(try client.ask(durable) == #"{"ok":"publish","id":1,"revision":1}"#)
            let (state, files) = (folder + "/state", FileManager.default)
            switch loss {
            case .folder: try files.removeItem(atPath: state)
            case .files:
                for name in try files.contentsOfDirectory(atPath: state) {
                    try files.removeItem(atPath: "\(state)/\(name)")
                }
            case .moved: try files.moveItem(atPath: state, toPath: state + ".away")
            }
            let first = try client.ask(durable)
            #expect(first.contains(#""error":"storage","id":1,"message":"the write was made"#), "\(first)")
            let second = try client.ask(durable)
            #expect(
                second.contains(#""error":"storage","id":1,"message":"nothing can be durable now"#),
                "\(second)"
            )
            let warnings = try client.ask("get $broker.warnings")
            #expect(warnings.contains("gone from \(state)"), "\(warnings)")
            // Everything else goes on.
            #expect(try client.ask("publish b 1").hasPrefix(#"{"ok":"publish""#))
            guard loss == .moved else { return }
            try files.moveItem(atPath: state + ".away", toPath: state)
            try eventually("it is noticed") { try client.ask(durable).hasPrefix(#"{"ok":"publish""#) }
            #expect(try client.ask("get $broker.warnings").contains(#""value":[],"#))
        }
        guard loss == .moved else { return }
        try withBroker { broker in
            let client = try broker.client()
            #expect(try client.ask("get b").contains(#""value":1"#))
        }
    }

    @Test("two brokers never use one journal")
    func lock() throws {
        try withBroker { broker in
            _ = try broker.client()
            #expect(throws: JournalError.inUse(folder: folder + "/state")) {
                _ = try JournalFolder(path: folder + "/state")
            }
        }
    }

    @Test("a damaged journal is not served and not changed")
    func damage() throws {
        try withBroker { broker in
            let client = try broker.client()
            for number in 1...10 { _ = try client.ask("publish k \(number)") }
        }
        let file = folder + "/state/segment-0000000001.jsonl"
        var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        bytes[400] ^= 1
        try bytes.write(to: URL(fileURLWithPath: file))
        let second = try Broker(
            configuration: Configuration(socketPath: folder + "/second.sock", stateFolder: folder + "/state")
        )
        #expect(throws: JournalError.self) { try second.run() }
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == bytes)
        let store = try JournalFolder(path: folder + "/state").store
        var repair = try JournalRepair(store)
        let repaired = try repair.run(epoch: "e")
        #expect(repaired?.damageCount == 1 && repaired?.keys == 1)
        try withBroker { broker in
            let value = try broker.client().ask("get k")
            #expect(value.contains(#""value":10"#))
        }
    }
}

/// How much room a journal takes up on the disk, with reserved room, while a client writes as fast as it can and
/// snapshots are made on another thread.
@Suite("The journal of a busy broker", .oneAtATime, .serialized)
struct JournalGrowthTests {
    @Test(
        "takes up no more than is promised, at any moment",
        arguments: [(5, 5_000, 20), (1_000, 5_000, 20), (5, 900_000, 1)]
    )
    func bound(keys: Int, bytes: Int, together: Int) throws {
        let folder = try TemporaryFolder(named: "pg")
        let state = folder.path + "/state"
        // As on a small disk.
        let broker = try TestBroker(state: state, JournalOptions(historyBytes: 0, leewayBytes: 0...0))
        let gauge = Gauge(state)
        let client = try broker.client()
        #expect(try client.write(120_000_000 / bytes, keys: keys, bytes: bytes, together: together) == 0)
        let peak = gauge.stop()
        broker.stop()
        let most = 3 * keys * (bytes + 120) + 4 * 1_048_576 + bytes + 200
        #expect(peak > 0 && peak <= most, "\(peak) of \(most)")
    }
}

/// Measures again and again how much room a folder takes up.
private final class Gauge: Sendable {
    private let peak = Shared(0)
    private let isStopped = Shared(false)
    private let ended = DispatchSemaphore(value: 0)

    init(_ folder: String) {
        let (peak, isStopped, ended) = (peak, isStopped, ended)
        Thread.detachNewThread {
            while !isStopped.get() {
                peak.set(max(peak.get(), bytesOnDisk(of: folder)))
                Pause.sleep(seconds: 0.001)
            }
            ended.signal()
        }
    }

    /// Stops and returns the highest measurement.
    func stop() -> Int {
        isStopped.set(true)
        ended.wait()
        return peak.get()
    }
}

/// The bytes of all files in a folder, with reserved room.
func bytesOnDisk(of folder: String) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.reduce(0) { $0 + SystemCalls.bytesOnDisk("\(folder)/\($1)") }
}
