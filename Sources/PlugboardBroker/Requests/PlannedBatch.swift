// The checked writes of a batch. Owned by `Requests`, which keeps its memory from one batch to the next. What
// always holds: only one request uses it at a time.

import PlugboardMemory
import PlugboardWire

/// The checked writes of a batch.
struct PlannedBatch: ~Copyable {
    private(set) var writes: [PlannedWrite] = []
    /// Where the results of its patches and sums are in `bytes`, one range for each write.
    private var merged: [ByteRange] = []
    private var bytes = ByteBuffer()

    init() {}

    /// How many bytes these results have.
    var mergedCount: Int { bytes.count }

    /// Where the result of the patch or the sum at a place is in the results.
    func result(at index: Int) -> ByteRange { merged[index] }

    /// Exchanges all results, so that they can be used while the hub is.
    mutating func exchangeResults(_ results: inout ByteBuffer) { swap(&bytes, &results) }

    mutating func append(_ write: PlannedWrite) {
        writes.append(write)
        merged.append(.none)
    }

    /// Keeps the result of the last write, a patch or a sum. Returns false if the batch would become too
    /// large.
    mutating func keep(_ result: borrowing ByteBuffer) -> Bool {
        guard !merged.isEmpty, bytes.count + result.count <= Limits.outboxBytesMax else { return false }
        merged[merged.count - 1] = ByteRange(bytes.count, bytes.count + result.count)
        bytes.append(contentsOf: result)
        return true
    }

    /// Forgets the batch and keeps the memory.
    mutating func removeAll() {
        writes.removeAll(keepingCapacity: true)
        merged.removeAll(keepingCapacity: true)
        bytes.removeAll()
    }
}
