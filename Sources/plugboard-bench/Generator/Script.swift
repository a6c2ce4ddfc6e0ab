// All bytes that a publisher sends, written before the measurement begins: batches
// that it goes through again and again.

/// One message to write.
struct Message {
    let key: [String]
    /// JSON text.
    let value: [UInt8]
    /// The number of its publisher.
    var publisher = 0
    /// From 0 within its batch.
    let number: Int
    /// The last of a batch, when the publisher wants to hear of the batch.
    let endsBatch: Bool
    /// Every message of the workload is answered.
    let isAcknowledged: Bool
    var operation = Workload.Operation.publish
    /// Further members, as the broker's protocol spells them.
    var members = ""

    /// The system shall answer this one, where it has answers for writes.
    var wantsReply: Bool { endsBatch || isAcknowledged }
}

/// JSON values of an exact length that end with a number of their own.
enum MessageValue {
    /// The text by which the value with that number is known.
    static func mark(_ number: Int) -> String {
        "\"n\":\(1_000_000_000 + number)}"
    }

    /// At least 16 bytes.
    static func bytes(_ number: Int, count: Int) -> [UInt8] {
        let plain = Array("{\(mark(number))".utf8)
        let head = Array("{\"ok\":true,\"price\":49.95,\"text\":\"".utf8)
        let end = Array("\",\(mark(number))".utf8)
        let filling = count - head.count - end.count
        return filling < 0 ? plain : head + [UInt8](repeating: UInt8(ascii: "x"), count: filling) + end
    }
}

/// A publisher's batches. Immutable once made.
final class Script {
    /// Batches of a script that has but one key.
    private static let batchesMin = 8
    private let bytes: [UInt8]
    private let ends: [Int]
    private let lastNumbers: [Int]

    /// The script of one of the workload's publishers, in a dialect.
    init(_ workload: Workload, publisher: Int, dialect: any Dialect) {
        var bytes: [UInt8] = []
        var ends: [Int] = []
        var lastNumbers: [Int] = []
        let keys = max(1, workload.keys / workload.publishers)
        let batches = max(Self.batchesMin, (keys + workload.batch - 1) / workload.batch)
        for batch in 0..<batches {
            for number in 0..<workload.batch {
                let sequence = batch * workload.batch + number
                let key = (sequence % keys) * workload.publishers + publisher
                dialect.appendWrite(
                    Message(
                        key: Names.key(key % workload.keys, of: workload),
                        value: MessageValue.bytes(sequence, count: workload.valueBytes),
                        publisher: publisher,
                        number: number,
                        endsBatch: workload.answersBatches && number == workload.batch - 1,
                        isAcknowledged: workload.isAcknowledged,
                        operation: workload.operation,
                        members: workload.keeping == .durable ? #""durable":true"# : workload.writing
                    ),
                    to: &bytes
                )
            }
            if workload.answersBatches, !workload.isAcknowledged {
                dialect.appendBatchEnd(to: &bytes)
            }
            ends.append(bytes.count)
            lastNumbers.append((batch + 1) * workload.batch - 1)
        }
        self.bytes = bytes
        self.ends = ends
        self.lastNumbers = lastNumbers
    }

    /// Batches before it starts over.
    var batches: Int { ends.count }

    /// The text that ends what the batch with that count, from 0, wrote.
    func lastMark(afterBatch batch: Int) -> String {
        MessageValue.mark(lastNumbers[batch % ends.count])
    }

    /// Lends the bytes of a batch from `offset` on.
    func withBatch<Result>(_ batch: Int, from offset: Int, _ body: (UnsafeRawBufferPointer) -> Result)
        -> Result
    {
        let index = batch % ends.count
        let start = index == 0 ? 0 : ends[index - 1]
        return bytes.withUnsafeBytes {
            body(UnsafeRawBufferPointer(rebasing: $0[(start + offset)..<ends[index]]))
        }
    }
}
