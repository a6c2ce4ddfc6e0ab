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
        let broker = try TestBroker(state: folder + "/state", options)
        try body(broker)
        broker.stop()
    }

    private func epoch(_ greeting: String) -> String? {
        greeting.firstRange(of: #/"epoch":"[0-9a-f]+"/#).map { String(greeting[$0]) }
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
        }
        guard loss == .moved else { return }
        try withBroker { broker in
            let client = try broker.client()
            #expect(try client.ask("get b").contains(#""value":1"#))
        }
    }

    @Test("revisions that the broker's own keys took are not taken again")
    func ownRevisions() throws {
        var last = 0
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.ask("get $broker.stats")
            let reply = try client.ask("get $broker.warnings")
            last = try #require(Int(reply.firstMatch(of: #/"revision":(\d+)/#)?.output.1 ?? ""))
        }
        try withBroker { broker in
            let reply = try broker.client().ask("publish a 1")
            let next = try #require(Int(reply.firstMatch(of: #/"revision":(\d+)/#)?.output.1 ?? ""))
            #expect(last > 0 && next > last)
        }
    }

    @Test(
        "a durable write is answered when it is on disk, also after half a close",
        arguments: SyncMode.allCases
    )
    func durable(sync: SyncMode) throws {
        try withBroker(JournalOptions(sync: sync)) { broker in
            let client = try broker.client()
            for id in 1...3 {
                try client.send(#"{"op":"publish","id":\#(id),"key":"k.\#(id)","value":1,"durable":true}"#)
            }
            try client.send(
                #"{"op":"batch","id":4,"durable":true,"writes":[{"op":"publish","key":"b","value":1}]}"#
            )
            try client.send(#"{"op":"add","id":"long id","key":"k.1","value":-0.25,"durable":true}"#)
            try client.send(#"{"op":"batch","id":6,"durable":true,"writes":[]}"#)
            client.halfClose()
            for id in 1...3 {
                #expect(try client.line() == #"{"ok":"publish","id":\#(id),"revision":\#(id)}"#)
            }
            #expect(try client.line() == #"{"ok":"batch","id":4,"revision":4}"#)
            #expect(try client.line() == #"{"ok":"add","id":"long id","revision":5,"value":0.75}"#)
            #expect(try client.line() == #"{"ok":"batch","id":6,"revision":5}"#)
            #expect(try client.lineOrEnd() == nil)
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
