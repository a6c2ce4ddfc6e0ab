// Long lines for clients that don't read: one copy for all of them, in outboxes and in queues.

import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Long lines that several have yet to read", .someAtATime)
struct HeldPartTests {
    private static let long = String(repeating: "x", count: 1_000_000)

    private func write(_ numbers: ClosedRange<Int>, _ writer: TestClient) throws {
        for number in numbers {
            try writer.send(#"{"op":"publish","key":"long","value":"\#(number)\#(Self.long)"}"#)
        }
        _ = try writer.ask("sync")
    }

    /// The number in a whole line about the key.
    private func number(_ line: String) -> Int? {
        let isWhole = line.hasSuffix("}") && line.utf8.count > Self.long.utf8.count
        guard line.contains(#""event":"update""#), isWhole else { return nil }
        return line.firstRange(of: #""value":""#).flatMap { line[$0.upperBound...].first?.wholeNumberValue }
    }

    @Test("are told whole and in order, then what is missing, then the reply that waited")
    func order() throws {
        let broker = try TestBroker()
        let writer = try broker.client()
        let observers = try (0..<3).map { _ in try broker.client() }
        for observer in observers {
            let request = #"{"op":"subscribe","key":"long","initial":false,"delivery":"all"}"#
            #expect(try observer.ask(request).contains(#""ok":"subscribe""#))
        }
        try write(1...7, writer)
        for observer in observers { try observer.send("sync") }
        for observer in observers {
            var lines: [String] = []
            while lines.last?.hasPrefix(#"{"ok":"sync""#) != true { lines.append(try observer.line()) }
            let told = lines.compactMap(number)
            #expect(told.count >= 4 && told == Array(1...told.count))
            #expect(lines[told.count].contains(#""dropped":\#(7 - told.count)"#))
            #expect(lines.count == told.count + 2)
        }
        broker.stop()
    }

    @Test("end with a whole line where the client is sent away")
    func disconnected() throws {
        let broker = try TestBroker()
        let writer = try broker.client()
        let observer = try broker.client()
        #expect(try observer.ask("subscribe long").contains(#""ok":"subscribe""#))
        #expect(try observer.line().contains("synced"))
        try write(1...2, writer)
        #expect(try writer.ask(#"{"op":"disconnect","client":2}"#).contains(#""ok":"disconnect""#))
        #expect(try number(observer.line()) == 1)
        let last = try observer.line()
        #expect(last.contains(#""event":"bye""#))
        #expect(try observer.lineOrEnd() == nil)
        broker.stop()
    }

    @Test(
        "become parts with what waits before them, also where half of that was sent and the client is sent away"
    )
    func ownBefore() throws {
        let broker = try TestBroker()
        let writer = try broker.client()
        let observers = try (0..<2).map { _ in try broker.client() }
        let text = String(repeating: "y", count: 900_000)
        try writer.send(#"{"op":"publish","key":"other","value":"\#(text)"}"#)
        _ = try writer.ask("sync")
        for observer in observers {
            _ = try observer.ask(#"{"op":"subscribe","key":"long","initial":false}"#)
        }
        try observers[1].send("get other")
        try write(1...1, writer)
        #expect(try writer.ask(#"{"op":"disconnect","client":3}"#).contains(#""ok":"disconnect""#))
        #expect(try observers[1].line().contains(text))
        #expect(try observers[1].line().contains(#""event":"bye""#))
        #expect(try number(observers[0].line()) == 1)
        broker.stop()
    }

    @Test("and many short ones together: the first client copies them, the others share one copy")
    func sharedRun() {
        let bare = TestHub()
        let writer = bare.client()
        let observers = (0..<3).map { _ in bare.client() }
        for observer in observers { bare.tell("subscribe **", from: observer) }
        let starts: [Int] = (1...2).map { turn in
            for number in 1...200 { bare.take("publish k\(number) 123456789\(turn)", from: writer) }
            for observer in observers { bare.hub.keepUnsent(of: observer) }
            bare.hub.endTurn()
            return bare.hub.sessions[observers[2]].outbox.offeredBytes
        }
        let counts = observers.map { Int(bare.hub.sessions[$0].outbox.heldCount) }
        let alone = observers.map { bare.hub.sessions[$0].outbox.keptOwnCount }
        let kept = observers.map { bare.hub.sessions[$0].outbox.takeKept() }
        #expect(counts == [0, kept[1].count, kept[2].count] && alone == [kept[0].count, 0, 0])
        #expect(kept[0].count > 12_800 && kept[1] == kept[0] && kept[2] == kept[0])
        // What the second turn adds lies behind what the first has left, so it is one part still.
        #expect(starts[0] < starts[1] && starts[1] == counts[2])
    }

    @Test("lines between which others are told something come in order, and aren't left of earlier turns")
    func copiedRuns() throws {
        let bare = TestHub()
        let (writer, observer, other) = (bare.client(), bare.client(), bare.client())
        bare.tell("subscribe a", from: observer)
        bare.tell("subscribe b", from: other)
        let text = String(repeating: "x", count: 100_000)
        let count = Limits.highWaterBytes / text.utf8.count + 2
        for number in 1...count {
            bare.take("publish a \"\(number)\(text)\"", from: writer)
            bare.take("publish b \(number)", from: writer)
        }
        let (waiting, isBehind) = (
            bare.hub.sessions[observer].outbox.count, bare.hub.sessions[observer].isBehind
        )
        #expect(waiting > Limits.highWaterBytes && !isBehind)
        let numbers = bare.lines(of: observer).map { line in
            line.firstRange(of: "\"value\":\"").map { Int(line[$0.upperBound...].prefix { $0 != "x" }) }
        }
        #expect(numbers == Array(1...count))
        bare.hub.keepUnsent(of: other)
        bare.hub.endTurn()
        let left = bare.hub.sessions[other].outbox.keptCount
        #expect(left > 0 && left == bare.hub.sessions[other].outbox.count)
    }

    @Test("whichever client had been sent least when it had to wait")
    func sharedFromEarlier() {
        let bare = TestHub()
        let writer = bare.client()
        let observers = (0..<4).map { _ in bare.client() }
        for observer in observers { bare.tell("subscribe **", from: observer) }
        for number in 1...200 { bare.take("publish k\(number) 1234567890", from: writer) }
        let count = bare.hub.sessions[observers[0]].outbox.count
        let sent = [6_000, 5_000, 70, 3]
        for (observer, sent) in zip(observers, sent) { bare.hub.keepUnsent(of: observer, skipping: sent) }
        let counts = observers.map { bare.hub.sessions[$0].outbox.count }
        let alone = observers.map { bare.hub.sessions[$0].outbox.keptOwnCount }
        let kept = observers.map { bare.hub.sessions[$0].outbox.takeKept() }
        #expect(counts == sent.map { count - $0 } && alone == [counts[0], 0, 0, 0])
        #expect(kept.allSatisfy { kept[3].suffix($0.count) == $0[...] })
    }

    @Test("are copied for each client where all copies together would be over the limit by a byte")
    func limit() {
        let count = held(keptBytesMax: .max)
        #expect(count > Self.long.utf8.count)
        #expect(held(keptBytesMax: count) == count)
        #expect(held(keptBytesMax: count - 1) == 0)
    }

    /// What a second client holds of a long line.
    private func held(keptBytesMax: Int) -> Int {
        let bare = TestHub()
        bare.hub.delivery.log = FanoutBuffer(keptBytesMax: keptBytesMax)
        let writer = bare.client()
        let observers = (0..<2).map { _ in bare.client() }
        for observer in observers { bare.tell("subscribe long", from: observer) }
        bare.take("publish long \"\(Self.long)\"", from: writer)
        for observer in observers { bare.hub.keepUnsent(of: observer) }
        return Int(bare.hub.sessions[observers[1]].outbox.heldCount)
    }

    @Test("while one is sent, its client is in the middle of a line, and then it isn't")
    func sentInPart() {
        let bare = TestHub()
        let (writer, other, observer) = (bare.client(), bare.client(), bare.client())
        for client in [other, observer] { bare.tell("subscribe long", from: client) }
        bare.take("publish long \"\(Self.long)\"", from: writer)
        for client in [other, observer] { bare.hub.keepUnsent(of: client) }
        let count = Int(bare.hub.sessions[observer].outbox.heldCount)
        let ends = [10, count - 10].map { bare.hub.sessions[observer].outbox.removeHeld($0) }
        #expect(count > Self.long.count && ends == [false, true])
    }

    @Test("a queue has them in their order among short ones, and counts the bytes of all")
    func queue() throws {
        var queue = PendingLines()
        let texts = ["a", "long one", "b", "long two", "c"]
        for (number, text) in texts.enumerated() {
            let bytes = Array(text.utf8)
            let header = PendingLines.Header(
                revision: UInt64(number), event: UInt64(number), keyHash: 0, observable: nil,
                count: bytes.count
            )
            if bytes.count > 1 {
                queue.append(SharedBytes(bytes.span), header)
            } else {
                queue.append(bytes.span, header)
            }
        }
        var left = texts.map { PendingLines.cost(ofLine: $0.utf8.count) }.reduce(0, +)
        for text in texts {
            let count = queue.byteCount
            var line = ByteBuffer()
            queue.appendFront(to: &line)
            let front = String(line.bytes)
            #expect(count == left && front == text)
            try queue.checkInvariants()
            left -= queue.removeFront()
        }
        let isEmpty = queue.isEmpty
        #expect(left == 0 && isEmpty)
    }
}

@Suite("Spare buffer memory")
struct BufferPoolTests {
    private static func filled(_ text: StaticString) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.append(text)
        return buffer
    }

    @Test("a buffer gets room for what it is to hold, and keeps what it holds")
    func room() {
        var pool = BufferPool()
        var buffer = Self.filled("waiting")
        buffer.removeFirst(4)
        pool.lend(1000, to: &buffer)
        let hasRoom = buffer.hasRoom(for: 1000)
        #expect(hasRoom)
        #expect(Array(buffer.bytes) == Array("ing".utf8))
        // The buffer's old memory is spare now, and a smaller buffer gets it, not a larger one.
        var large = ByteBuffer()
        pool.lend(100, to: &large)
        #expect((large.allocatedBytes, pool.bytes) == (128, 64))
        var small = ByteBuffer()
        pool.lend(40, to: &small)
        #expect((small.allocatedBytes, pool.bytes) == (64, 0))
    }

    @Test("it keeps so many bytes and no more, and no block past its largest")
    func limits() {
        var pool = BufferPool()
        let count = BufferPool.pooledBytesMax / BufferPool.blockBytesMax
        for number in 0...count {
            var buffer = ByteBuffer()
            buffer.reserve(BufferPool.blockBytesMax)
            pool.takeBack(from: &buffer)
            #expect(pool.bytes == min(number + 1, count) * BufferPool.blockBytesMax)
        }
        pool.releaseAll()
        #expect(pool.bytes == 0)
        var other = BufferPool()
        var large = ByteBuffer()
        large.reserve(BufferPool.blockBytesMax + 1)
        other.takeBack(from: &large)
        #expect(other.bytes == 0)
        other.lend(BufferPool.blockBytesMax + 1, to: &large)
        #expect(large.allocatedBytes == 0)
    }
}
