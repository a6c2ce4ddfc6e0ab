// Memory of outboxes between turns, and of inboxes between half lines: a busy connection
// gets back what fits it, an idle one holds none.

import PlugboardWire

/// Spare buffer memory, last in first out, so that what is reused is still cached.
struct BufferPool: ~Copyable {
    private static let pooledBytesMax = 33_554_432
    private static let blockBytesMax = 1_048_576
    private var spare = List<ByteBuffer.Storage>()
    private var bytes = 0

    init() {}

    deinit {
        for storage in spare.elements { ByteBuffer.free(storage) }
    }

    /// Gives an empty buffer memory, where some is spare.
    mutating func lend(to buffer: inout ByteBuffer) {
        guard let storage = spare.popLast() else { return }
        bytes -= storage.capacity
        buffer.giveStorage(storage)
    }

    /// Takes the memory of a buffer that has become empty.
    mutating func takeBack(from buffer: inout ByteBuffer) {
        guard let storage = buffer.takeStorage() else { return }
        guard storage.capacity <= Self.blockBytesMax, bytes + storage.capacity <= Self.pooledBytesMax else {
            return ByteBuffer.free(storage)
        }
        bytes += storage.capacity
        spare.append(storage)
    }
}
