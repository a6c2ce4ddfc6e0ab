// The sending end of the generator: goes through its script, batch by batch.

import PlugboardPosix

/// One publishing connection. Used by one thread.
struct Publisher {
    let link: Link
    let script: Script
    /// What comes back for a batch; nil where nothing does.
    let batchMark: Mark?
    /// Batches begun since the script was first used.
    private(set) var begun = 0
    /// Batches sent whole since the counts were cleared.
    private(set) var sent = 0
    private var answeredUnits = 0
    /// Bytes of a batch that the system has taken so far; nil between batches.
    private var offset: Int?
    private(set) var isWaitingToWrite = false

    init(link: Link, script: Script, batchMark: Mark?) {
        self.link = link
        self.script = script
        self.batchMark = batchMark
    }

    /// Batches that were answered.
    var answered: Int {
        guard let batchMark else { return sent }
        return answeredUnits / batchMark.units
    }

    /// Everything it sent was answered; a server may say something of its own besides.
    var isIdle: Bool { offset == nil && answered >= sent }
    var isMidBatch: Bool { offset != nil }

    /// The text that ends the last value it wrote.
    var lastMark: String { script.lastMark(afterBatch: max(0, begun - 1)) }

    mutating func clearCounts() {
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
        switch transfer {
        case .bytes(let count) where count == left:
            offset = nil
            sent += 1
        case .bytes(let count): offset = from + count
        case .wouldBlock: offset = from
        case .ended: throw BenchError.closed
        case .failed(let code): throw SystemError(code: code, operation: "send")
        }
        isWaitingToWrite = offset != nil
        return offset == nil
    }

    /// Counts the answers in what arrived.
    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        guard let batchMark else { return }
        answeredUnits += batchMark.units(in: bytes)
    }
}
