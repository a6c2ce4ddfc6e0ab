// All bytes that a publisher sends. They are made before the measurement begins, so nothing is encoded
// while time is measured. The publisher sends the batches again and again.

import PlugboardMemory

/// One message to write.
struct Message {
    let key: String
    /// The value as JSON.
    let value: [UInt8]
    /// The number of its publisher.
    var publisher = 0
    /// The index of the message in its batch.
    let number: Int
    /// Whether the system should answer this message: every message, or the last one of each batch.
    let wantsReply: Bool
    /// Whether the system answers every message of the workload.
    let isAcknowledged: Bool
    var operation = Workload.Operation.publish
    /// More members of the request, as the broker's protocol spells them.
    var members = ""
    /// Whether the request has spaces, as the value has.
    var isSpaced = false
}

/// JSON values of an exact length. Each has a number at its end.
enum MessageValue {
    /// The text with the number of a value.
    static func mark(_ number: Int) -> String { "\"n\":\(1_000_000_000 + number)}" }

    /// A value of `count` bytes, or of 16 if `count` is too small for the text.
    static func bytes(_ number: Int, count: Int) -> [UInt8] {
        let head = Array("{\"ok\":true,\"price\":49.95,\"text\":\"".utf8)
        let end = Array("\",\(mark(number))".utf8)
        let filling = count - head.count - end.count
        if filling < 0 { return Array("{\(mark(number))".utf8) }
        return head + [UInt8](repeating: UInt8(ascii: "x"), count: filling) + end
    }
}

/// The batches of one publisher. They never change.
struct Script {
    /// The number of batches, unless the keys need more.
    private static let batchesMin = 8
    /// The number of messages in each batch.
    private let batchMessages: Int
    private let mixed: MixedTraffic.Spelling?
    private let bytes: [UInt8]
    /// The offset of each batch, and the end of the last one.
    private let places: [Int]

    /// The script of one of the workload's publishers.
    init(_ workload: Workload, publisher: Int, dialect: any Dialect) {
        var bytes: [UInt8] = []
        let keys = max(1, workload.keys / workload.publishers)
        let order = workload.isShuffled ? (0..<keys).shuffled() : Array(0..<keys)
        (batchMessages, mixed) = (workload.batch, workload.mixed)
        places =
            [0]
            + (0..<max(Self.batchesMin, (keys + workload.batch - 1) / workload.batch)).map { number in
                for index in 0..<workload.batch {
                    let sequence = number * workload.batch + index
                    let isEnd = workload.answersBatches && index == workload.batch - 1
                    let message = Message(
                        key: Names.key(
                            (order[sequence % keys] * workload.publishers + publisher) % workload.keys,
                            of: workload
                        ),
                        value: workload.mixed.map { MixedTraffic.value(sequence, $0) }
                            ?? MessageValue.bytes(sequence, count: workload.valueBytes(of: index)),
                        publisher: publisher,
                        number: index,
                        wantsReply: isEnd || workload.isAcknowledged,
                        isAcknowledged: workload.isAcknowledged,
                        operation: workload.operation,
                        members: workload.keeping == .durable ? #""durable":true"# : workload.writing,
                        isSpaced: workload.mixed == .spaced
                    )
                    dialect.appendWrite(message, to: &bytes)
                }
                if workload.answersBatches, !workload.isAcknowledged {
                    dialect.appendBatchEnd(to: &bytes)
                }
                return bytes.count
            }
        self.bytes = bytes
    }

    /// The number of batches, after which the script begins again.
    var batches: Int { places.count - 1 }

    /// The text at the end of the last value of a batch. `number` counts batches from 0.
    func lastMark(afterBatch number: Int) -> String {
        let last = (number % batches + 1) * batchMessages - 1
        return mixed.map { String(decoding: MixedTraffic.value(last, $0).suffix(16), as: UTF8.self) }
            ?? MessageValue.mark(last)
    }

    /// The bytes of a batch.
    @_lifetime(borrow self)
    func batch(_ number: Int) -> Span<UInt8> {
        let index = number % batches
        return bytes.span[places[index]..<places[index + 1]]
    }
}
