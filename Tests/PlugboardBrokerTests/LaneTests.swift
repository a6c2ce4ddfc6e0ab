@testable import PlugboardBroker
import PlugboardWire
import TestSupport
import Testing

// Paused and slow readers that share what they are owed are told the same as twins that don't. A twin is the
// supervisor's, whose rights are asked for, so it has a list of its own.

@Suite("Readers that share what they are owed", .computing)
struct LaneTests {
    private let hub = TestHub()

    /// A reader and its twin.
    private func pair(_ pattern: String) -> [SessionHandle] {
        ([1, 7] as [Int32]).map { reader(pattern, process: $0) }
    }

    private func reader(_ pattern: String, process: Int32, _ options: String = "") -> SessionHandle {
        let client = hub.client(process: process)
        hub.send(#"{"op":"subscribe","key":"\#(pattern)","initial":false\#(options)}"#, from: client)
        _ = hub.read(client)
        return client
    }

    private func state(_ client: SessionHandle, asking asker: SessionHandle) -> Substring? {
        let number = hub.hub.sessions[client].client
        hub.send("who a.1", from: asker)
        let reply = hub.read(asker).last ?? ""
        let own = reply.split(separator: #"{"client":"#).first { $0.hasPrefix("\(number),") }
        return own.flatMap { $0.split(separator: #""state""#).last?.prefix { $0 != "}" } }
    }

    @Test("are told the same as those who don't share", arguments: 1...12 as ClosedRange<UInt64>)
    func twins(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let (writer, asker) = (hub.client(), hub.client())
        hub.obey(supervisor: 7)
        let acknowledging = hub.client()
        hub.send(#"{"op":"subscribe","key":"a.5","phase":1,"ack":true}"#, from: acknowledging)
        let patterns = ["**", "**", "**", "a.*", "a.*", "a.1", "a.1"]
        let pairs = patterns.map { pair($0) }
        var unacked = 0
        for value in 0..<1_500 {
            let key = (random.next() % 2 == 0 ? "a." : "b.") + "\(random.next() % 6)"
            let readers = pairs[Int(random.next() % UInt64(pairs.count))]
            var line: String?
            switch random.next() % 32 {
            case 0...7: hub.send("publish \(key) \(value)", from: writer)
            case 8, 9: hub.send("delete \(key)", from: writer)
            case 10: hub.send("emit \(key) \(value)", from: writer)
            case 11:
                let writes = (0..<4).map { #"{"op":"publish","key":"a.\#($0)","value":\#(value)}"# }
                hub.send(#"{"op":"batch","writes":[\#(writes.joined(separator: ","))]}"#, from: writer)
            case 12...15: line = "pause 1"
            case 16...18: line = "resume 1"
            case 19, 28...31: line = #"{"op":"step","sub":1,"count":\#(random.next() % 3 + 1)}"#
            case 20: line = "unsubscribe 1"
            case 21 where value % 2 == 0: hub.expireAll(after: UInt64(value) * 2_000)
            case 21:
                hub.send(#"{"op":"ack","sub":1,"revision":\#(hub.hub.revision)}"#, from: acknowledging)
                _ = hub.read(acknowledging)
            case 22...25:
                // What comes from now on is owed, until they are chosen again.
                for reader in readers { hub.stopReading(reader) }
                continue
            default: #expect(state(readers[0], asking: asker) == state(readers[1], asking: asker))
            }
            if let line { for reader in readers { hub.send(line, from: reader) } }
            if line == "unsubscribe 1" {
                let options = #""key":"\#(patterns[pairs.firstIndex(of: readers) ?? 0])","initial":false"#
                for reader in readers { hub.send(#"{"op":"subscribe",\#(options)}"#, from: reader) }
            }
            let lines = readers.map { hub.read($0) }
            #expect(lines[0] == lines[1])
            unacked += lines[0].count { $0.contains(#""unacked""#) }
        }
        #expect(unacked > 0)
    }

    @Test(
        "are told the same, if very many that stand next to each other wait",
        arguments: 1...4 as ClosedRange<UInt64>)
    func crowds(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let writer = hub.client()
        hub.obey(supervisor: 7)
        let acknowledging = hub.client()
        hub.send(#"{"op":"subscribe","key":"a.5","phase":1,"ack":true}"#, from: acknowledging)
        let count = ReaderRuns.listMin
        let crowds = ([1, 7] as [Int32]).map { process in
            (0..<count).map { reader($0 < count / 3 ? "**" : "a.*", process: process) }
        }
        for value in 0..<500 {
            let first = Int(random.next() % UInt64(count))
            let places = first..<min(count, first + 1 << Int(random.next() % 7))
            let key = "a.\(random.next() % 6)"
            var line: String?
            switch random.next() % 16 {
            case 0...4: hub.send("publish \(key) \(value)", from: writer)
            case 5, 6:
                let keys = (0..<8).map { "a.\(($0 + value) % 5)" }
                let writes = keys.map { #"{"op":"publish","key":"\#($0)","value":\#(value)}"# }
                hub.send(#"{"op":"batch","writes":[\#(writes.joined(separator: ","))]}"#, from: writer)
            case 7: hub.send("delete \(key)", from: writer)
            case 8: hub.send("emit \(key) \(value)", from: writer)
            case 9...11: line = "pause 1"
            case 12: line = "resume 1"
            case 13: line = #"{"op":"step","sub":1,"count":\#(random.next() % 3 + 1)}"#
            case 14 where value % 3 == 0:
                hub.send(#"{"op":"ack","sub":1,"revision":\#(hub.hub.revision)}"#, from: acknowledging)
                _ = hub.read(acknowledging)
            default: for place in places { for crowd in crowds { hub.stopReading(crowd[place]) } }
            }
            guard let line else { continue }
            for place in places {
                let lines = crowds.map { crowd in
                    hub.send(line, from: crowd[place])
                    return hub.read(crowd[place])
                }
                #expect(lines[0] == lines[1])
            }
        }
    }

    /// As many as are passed by together, with options, each of which was told `a` and waits.
    private func crowd(_ options: String, _ writer: SessionHandle) -> [SessionHandle] {
        let crowd = (0..<ReaderRuns.listMin).map { _ in reader("*", process: 1, options) }
        hub.send("publish a 1", from: writer)
        for reader in crowd { _ = hub.read(reader) }
        return crowd
    }

    @Test("who may go on when a key moves behind others isn't passed by")
    func heldBack() {
        let writer = hub.client()
        let crowd = crowd(#","every":60000"#, writer)
        for reader in crowd { hub.send("pause 1", from: reader) }
        hub.send("publish a 2\npublish b 2\npublish c 2\npublish c 3", from: writer)
        hub.send("resume 1", from: crowd[0])
        // What comes first was told within the window.
        #expect(hub.read(crowd[0]).last?.contains(#""ok":"resume""#) == true)
        hub.send("publish a 3", from: writer)
        let told = hub.read(crowd[0])
        #expect(told.count == 2 && told[0].contains(#""key":"b""#) && told[1].contains(#""key":"c""#))
    }

    @Test("who was told something is owed it again when it is written again, and its neighbours aren't")
    func movedOn() {
        let writer = hub.client()
        let crowd = crowd("", writer)
        let text = String(repeating: "x", count: Limits.lowWaterBytes / 4)
        for reader in crowd { hub.stopReading(reader) }
        for key in 0..<12 { hub.send("publish k\(key) \"\(text)\"", from: writer) }
        let some = hub.readSome(crowd[0])
        #expect(!some.isEmpty && some.count < 12)
        hub.send("publish k0 1\npublish k0 2", from: writer)
        let lines = hub.read(crowd[0])
        #expect(lines.count == 13 - some.count && lines.last?.contains(#""value":2,"#) == true)
        #expect(hub.read(crowd[1]).count == 12)
    }

    @Test(
        "that read a little at a time are told the same as those who don't share",
        arguments: 1...4 as ClosedRange<UInt64>)
    func trickling(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let writer = hub.client()
        hub.obey(supervisor: 7)
        let pairs = (0..<3).map { _ in pair("**") }
        // Of such values, a few fill the room that a client has.
        let text = String(repeating: "x", count: Limits.lowWaterBytes / 4)
        for pair in pairs { for reader in pair { hub.stopReading(reader) } }
        for value in 0..<250 {
            let key = "k.\(random.next() % 24)"
            let readers = pairs[Int(random.next() % UInt64(pairs.count))]
            switch random.next() % 16 {
            case 0...9: hub.send(#"publish \#(key) "\#(value)\#(text)""#, from: writer)
            case 10, 11: hub.send("delete \(key)", from: writer)
            case 12: hub.send("emit \(key) \(value)", from: writer)
            default:
                let lines = readers.map { hub.readSome($0) }
                #expect(lines[0] == lines[1] && lines[0].count < 24)
                for reader in readers { hub.stopReading(reader) }
            }
        }
        for readers in pairs { #expect(hub.read(readers[0]) == hub.read(readers[1])) }
    }

    @Test("of one client that is slow share it, until their turn comes", arguments: [false, true])
    func slow(leaves: Bool) {
        let (writer, reader) = (hub.client(), hub.client())
        let before = hub.keyCount
        for _ in 0..<300 { hub.send(#"{"op":"subscribe","key":"a","initial":false}"#, from: reader) }
        _ = hub.read(reader)
        hub.stopReading(reader)
        for value in 1...3 { hub.send("publish a \(value)", from: writer) }
        hub.send("publish b 1\ndelete b", from: writer)
        hub.send("unsubscribe 300\npause 299", from: reader)
        if leaves {
            hub.send("delete a", from: writer)
        } else {
            let lines = hub.read(reader).filter { $0.contains(#""event":"update""#) }
            let isNewest = lines.allSatisfy { $0.contains(#""value":3"#) && number("skipped", in: $0) == 2 }
            #expect(lines.count == 298 && isNewest)
            hub.send("resume 299", from: reader)
            #expect(hub.read(reader).count == 2)
            hub.send("delete a", from: writer)
        }
        hub.leave(reader)
        hub.endTurn()
        #expect(hub.keyCount == before)
    }

    private func pause(_ reader: SessionHandle) {
        hub.send("pause 1", from: reader)
        _ = hub.read(reader)
    }

    @Test("leave nothing behind")
    func leaving() {
        let writer = hub.client()
        let before = hub.keyCount
        let readers = (0..<3).map { _ in pair("**")[0] }
        for reader in readers {
            _ = hub.read(reader)
            pause(reader)
            for key in 0..<100 { hub.send("publish k.\(key) 1\ndelete k.\(key)", from: writer) }
        }
        hub.send("unsubscribe 1", from: readers[0])
        hub.send("resume 1", from: readers[1])
        #expect(hub.read(readers[1]).count == 101)
        hub.leave(readers[2])
        hub.endTurn()
        #expect(hub.keyCount == before)
    }

    @Test("keep nothing that nobody is owed any more, although one of them always waits")
    func unowed() {
        let writer = hub.client()
        let readers = (0..<6).map { _ in pair("**")[0] }
        for reader in readers { _ = hub.read(reader) }
        pause(readers[0])
        for (number, (reader, next)) in zip(readers, readers.dropFirst()).enumerated() {
            for key in 0..<500 {
                hub.send("publish k.\(number).\(key) 1\ndelete k.\(number).\(key)", from: writer)
            }
            pause(next)
            hub.send("resume 1", from: reader)
            #expect(hub.read(reader).count == 501)
        }
        for key in 0..<100 { hub.send("publish last.\(key) 1", from: writer) }
        _ = hub.read(writer)
        hub.endTurn()
        #expect(hub.keyCount < 400)
    }

    @Test("a wrong count of what one of them is owed or was told is found")
    func mistake() {
        let reader = reader("**", process: 1)
        pause(reader)
        hub.send("publish a 1", from: hub.client())
        let subscription = hub.hub.sessions[reader].subscriptions.list[0]
        let isSharing = hub.hub.matching[subscription].isSharing
        #expect(isSharing && hub.brokenInvariant() == nil)
        hub.hub.matching[subscription].lag.owedCount += 1
        #expect(hub.brokenInvariant()?.sentence == "a reader's keys are counted")
        hub.hub.matching[subscription].lag.owedCount -= 1
        hub.hub.matching[subscription].backlog?.known[0] = 1
        #expect(hub.brokenInvariant()?.sentence == "a key that a reader was told is owed again")
        hub.hub.matching[subscription].backlog?.known[0] = nil
    }
}
