// A batch under way: what its writes come to, once all are checked. Owned by `Requests`, which keeps its
// memory from one batch to the next. What always holds: it is used by one request alone.

import PlugboardMemory
import PlugboardWire

/// The writes of a batch that were checked.
struct PlannedBatch: ~Copyable {
    private(set) var writes: [PlannedWrite] = []
    /// The results of its patches and sums within `bytes`, a range for each write.
    private var merged: [ByteRange] = []
    private var bytes = ByteBuffer()

    init() {}

    /// The bytes of all these results.
    var mergedCount: Int { bytes.count }

    /// The result of the patch or the sum at a place.
    @_lifetime(borrow self)
    func value(at index: Int) -> Span<UInt8> { merged[index].bytes(of: bytes.bytes) }

    mutating func append(_ write: PlannedWrite) {
        writes.append(write)
        merged.append(.none)
    }

    /// Keeps the result of the last write, a patch or a sum. Returns false where that would be too much for
    /// one batch.
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
