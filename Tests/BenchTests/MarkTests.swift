import PlugboardMemory
import TestSupport
import Testing

@testable import plugboard_bench

@Suite("What the generator counts", .someAtATime)
struct MarkTests {
    private func lineFeeds(_ bytes: [UInt8]) -> Int {
        bytes.span.count(of: 0x0A)
    }

    @Test("an observer that answers counts its answers, even if a line comes in pieces")
    func answers() throws {
        let link = try Conversation(answers: "").link
        var observer = LoadObserver(link: link, batchMark: .lines(1)) { line in
            line.first == UInt8(ascii: "a") ? Array(line) : nil
        }
        let take = { (text: String) in
            let answer = text.withBytes { observer.take($0) }
            return String(decoding: answer, as: UTF8.self)
        }
        #expect(take("b\na1\na") == "a1")
        #expect(take("2\nb\n") == "a2")
        #expect(observer.batches == 2)
    }

    @Test("line feeds are counted at every place, whatever is beside them")
    func everyPlace() {
        for count in 0..<40 {
            for place in 0..<count {
                for other in [UInt8(0), 0x0B, 0x09, 0x8A, 0xFF] {
                    var bytes = [UInt8](repeating: other, count: count)
                    bytes[place] = 0x0A
                    #expect(lineFeeds(bytes) == 1, "\(other) around place \(place) of \(count)")
                }
            }
        }
    }

    @Test("counts go far beyond what a byte holds", arguments: [0, 7, 255 * 8, 255 * 8 + 1, 100_000])
    func many(count: Int) {
        #expect(lineFeeds([UInt8](repeating: 0x0A, count: count)) == count)
    }

    @Test("a batch is complete when all units of all its messages have arrived")
    func observer() throws {
        var observer = LoadObserver(
            link: try Conversation(answers: "").link, batchMark: Mark.lines(2).times(3)
        )
        let take = { (text: String) in _ = text.withBytes { observer.take($0) } }
        take("MSG\r\n1\r\nMSG\r\n2\r\nMSG\r\n")
        #expect(observer.batches == 0)
        take("3\r\n")
        #expect(observer.batches == 1)
        #expect(observer.lastBytesContain("3\r\n"))
    }

    @Test("values have the requested length and end with their number", arguments: [16, 64, 128, 16_384])
    func values(count: Int) {
        let value = MessageValue.bytes(7, count: count)
        #expect(value.count == max(16, count))
        #expect(String(decoding: value, as: UTF8.self).hasSuffix(MessageValue.mark(7)))
    }

    @Test("a script goes through all keys before it begins again")
    func script() {
        let workload = Workload("test").with {
            $0.keys = 5
            $0.batch = 2
            $0.valueBytes = 16
        }
        let script = Script(workload, publisher: 0, dialect: RedisDialect(work: .tell))
        var text = ""
        for batch in 0..<3 {
            text += String(script.batch(batch))
        }
        for key in 0..<5 { #expect(text.contains("bench.k00000\(key)")) }
        let fourth = Array(script.batch(0))
        #expect(Array(script.batch(script.batches)) == fourth)
    }
}
