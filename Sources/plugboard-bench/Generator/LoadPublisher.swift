// The sending end of the generator: goes through its script, batch by batch.

import PlugboardPosix

/// One publishing connection. Used by one thread.
struct LoadPublisher {
    let link: LoadLink
    let script: Script
    /// What comes back for a batch; nil where nothing does.
    private let batchMark: Mark?
    /// Batches begun since the script was first used.
    private var begun = 0
    /// Batches sent whole since the counts were cleared.
    private(set) var sent = 0
    private var answeredUnits = 0
    /// Bytes of a batch that the system has taken so far; nil between batches.
    private var offset: Int?

    /// Opens a fresh connection as the publisher with that number.
    init(_ number: Int, _ link: LoadLink, _ workload: Workload, _ dialect: any Dialect) throws {
        try dialect.open(link, workload: workload, as: .publisher(number))
        self.link = link
        script = Script(workload, publisher: number, dialect: dialect)
        let isAnswered = workload.answersBatches || workload.operation == .call
        batchMark = isAnswered ? dialect.batchMark(workload) : nil
    }

    /// Batches that were answered.
    var answered: Int { batchMark.map { answeredUnits / $0.units } ?? sent }

    /// Everything it sent was answered; a server may say something of its own besides.
    var isIdle: Bool { offset == nil && answered >= sent }
    /// The system didn't take all of a batch.
    var isMidBatch: Bool { offset != nil }

    /// The text that ends the last value it wrote.
    var lastMark: String { script.lastMark(afterBatch: max(0, begun - 1)) }

    mutating func clearCounts() {
        link.discardArrived()
        sent = 0
        answeredUnits = 0
    }

    /// Begins the next batch, or goes on with the one begun. Returns whether it went
    /// out whole.
    mutating func write() throws -> Bool {
        if offset == nil { begun += 1 }
        let from = offset ?? 0
        let (transfer, left) = script.withBatch(begun - 1, from: from) { bytes in
            (DescriptorCalls.send(link.fd, bytes), bytes.count)
        }
        let count = try transfer.count("send") ?? 0
        offset = count == left ? nil : from + count
        if count == left { sent += 1 }
        return count == left
    }

    /// Counts the answers in what arrived.
    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        answeredUnits += batchMark?.units(in: bytes) ?? 0
    }
}
