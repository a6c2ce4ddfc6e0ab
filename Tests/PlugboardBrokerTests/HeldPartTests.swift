// Long lines for clients that don't read: one copy for all of them, in outboxes and in queues.

import PlugboardMemory
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
        guard line.hasPrefix(#"{"event":"update""#), isWhole else { return nil }
        return line.firstMatch(of: #/"value":"(\d)x/#).flatMap { Int($0.1) }
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

    @Test("while one is sent, its client is in the middle of a line, and then it isn't")
    func sentInPart() {
        let bare = BareHub()
        let (writer, observer) = (bare.client(), bare.client())
        bare.send("subscribe long", from: observer)
        bare.take("publish long \"\(Self.long)\"", from: writer)
        bare.hub.openOwn(of: observer)
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
                UInt64(number), event: UInt64(number), keyHash: 0, observable: nil, count: bytes.count
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
