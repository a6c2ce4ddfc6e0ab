// A publisher of the generator, which owns it. It sends its script batch by batch, and begins again at
// the end. It encodes nothing while time is measured.

import PlugboardMemory
import PlugboardPosix

/// A connection that publishes. Only one thread uses it.
struct LoadPublisher {
    let link: LoadLink
    let script: Script
    /// How to recognize the answer to a batch; nil if there is none.
    private let batchMark: Mark?
    /// Batches that were begun since the script was made.
    private var begun = 0
    /// Batches that were sent completely since the last `clearCounts`.
    private(set) var sent = 0
    private var answeredUnits = 0
    /// The bytes of the present batch that were sent; nil between batches.
    private var offset: Int?

    /// Greets on a new connection as the publisher with this number.
    init(_ number: Int, _ link: LoadLink, _ workload: Workload, _ dialect: any Dialect) throws {
        try dialect.open(link, workload: workload, as: .publisher(number))
        self.link = link
        script = Script(workload, publisher: number, dialect: dialect)
        let isAnswered = workload.answersBatches || workload.operation == .call
        batchMark = isAnswered ? dialect.batchMark(workload) : nil
    }

    /// Batches that were answered.
    var answered: Int { batchMark.map { answeredUnits / $0.units } ?? sent }

    /// Whether everything that it sent was answered. Servers may send more than answers.
    var isIdle: Bool { offset == nil && answered >= sent }
    /// Whether only a part of a batch was sent.
    var isMidBatch: Bool { offset != nil }

    /// The text at the end of the last value that it sent.
    var lastMark: String { script.lastMark(afterBatch: max(0, begun - 1)) }

    mutating func clearCounts() {
        link.discardArrived()
        sent = 0
        answeredUnits = 0
    }

    /// Begins the next batch, or continues the present one. Returns whether all of it was sent.
    mutating func write() throws -> Bool {
        if offset == nil { begun += 1 }
        let from = offset ?? 0
        let (left, transfer) = send(from: from)
        let count = try transfer.count("send") ?? 0
        offset = count == left ? nil : from + count
        if count == left { sent += 1 }
        return count == left
    }

    /// Sends what is left of the present batch, as far as the system takes it.
    private func send(from place: Int) -> (left: Int, transfer: Transfer) {
        let left = script.batch(begun - 1)[place...]
        return (left.count, DescriptorCalls.send(link.fd, left))
    }

    /// Counts the answers among these bytes.
    mutating func take(_ bytes: Span<UInt8>) {
        answeredUnits += batchMark?.units(in: bytes) ?? 0
    }
}
