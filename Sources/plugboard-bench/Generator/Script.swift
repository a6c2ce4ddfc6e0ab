// All bytes that a publisher sends, written before the measurement begins:
// batches that it goes through again and again. Nothing is encoded while
// the clock runs.

import PlugboardMemory

/// One message to write.
struct Message {
    let key: String
    /// JSON text.
    let value: [UInt8]
    /// The number of its publisher.
    var publisher = 0
    /// From 0 within its batch.
    let number: Int
    /// Whether the system should answer this message, if it answers writes: every one, or the last
    /// of a batch whose publisher waits for it.
    let wantsReply: Bool
    /// Whether every message of the workload is answered.
    let isAcknowledged: Bool
    var operation = Workload.Operation.publish
    /// Further members, in the spelling of the broker's protocol.
    var members = ""
}

/// JSON values of an exact length. Each ends with a number of its own.
enum MessageValue {
    /// The text that identifies the value with this number.
    static func mark(_ number: Int) -> String { "\"n\":\(1_000_000_000 + number)}" }

    /// At least 16 bytes.
    static func bytes(_ number: Int, count: Int) -> [UInt8] {
        let head = Array("{\"ok\":true,\"price\":49.95,\"text\":\"".utf8)
        let end = Array("\",\(mark(number))".utf8)
        let filling = count - head.count - end.count
        if filling < 0 { return Array("{\(mark(number))".utf8) }
        return head + [UInt8](repeating: UInt8(ascii: "x"), count: filling) + end
    }
}

/// The batches of a publisher. It never changes.
struct Script {
    /// The number of batches in a script with only one key.
    private static let batchesMin = 8
    /// The messages of each batch.
    private let batchMessages: Int
    private let bytes: [UInt8]
    /// The offsets of the batches, and the end of the last one.
    private let places: [Int]

    /// The script of one of the workload's publishers, in a dialect.
    init(_ workload: Workload, publisher: Int, dialect: any Dialect) {
        var bytes: [UInt8] = []
        let keys = max(1, workload.keys / workload.publishers)
        batchMessages = workload.batch
        places =
            [0]
            + (0..<max(Self.batchesMin, (keys + workload.batch - 1) / workload.batch)).map { number in
                for index in 0..<workload.batch {
                    let sequence = number * workload.batch + index
                    let isEnd = workload.answersBatches && index == workload.batch - 1
                    let message = Message(
                        key: Names.key(
                            ((sequence % keys) * workload.publishers + publisher) % workload.keys,
                            of: workload
                        ),
                        value: MessageValue.bytes(sequence, count: workload.valueBytes),
                        publisher: publisher,
                        number: index,
                        wantsReply: isEnd || workload.isAcknowledged,
                        isAcknowledged: workload.isAcknowledged,
                        operation: workload.operation,
                        members: workload.keeping == .durable ? #""durable":true"# : workload.writing
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

    /// Batches before it begins again.
    var batches: Int { places.count - 1 }

    /// The text at the end of the last value of a batch. Batches are counted from 0.
    func lastMark(afterBatch number: Int) -> String {
        MessageValue.mark((number % batches + 1) * batchMessages - 1)
    }

    /// The bytes of a batch.
    @_lifetime(borrow self)
    func batch(_ number: Int) -> Span<UInt8> {
        let index = number % batches
        return bytes.span[places[index]..<places[index + 1]]
    }
}
