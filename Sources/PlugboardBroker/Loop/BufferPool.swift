// Memory for outboxes between turns, and for inboxes between half lines. A busy connection gets a buffer that
// fits, and an idle one has none. Spare buffers are in rows by their size. Owned by `Delivery`.

import PlugboardMemory
import PlugboardWire

/// Spare buffers. The last one of a size is reused first, because it is still in the processor's cache.
struct BufferPool: ~Copyable {
    static let pooledBytesMax = 16_777_216
    static let blockBytesMax = 1_048_576

    private struct Spare: ~Copyable {
        var buffer: ByteBuffer
        var next: Handle<Spare>
    }

    private var spares = Slab<Spare>()
    /// The last buffer of each row. Buffers in row n have at least 2ⁿ bytes, but fewer than twice as many.
    private var rows = List<Handle<Spare>>(repeating: .none, count: row(holding: blockBytesMax) + 1)
    private var latestRow = 0
    private(set) var bytes = 0

    /// Gives an empty buffer memory, if any is spare. Prefers the size that was used last.
    mutating func lend(to buffer: inout ByteBuffer) {
        guard let row = rowWithSpare(from: latestRow) ?? rowWithSpare(from: 0) else { return }
        buffer = pop(row)
    }

    /// Makes room for `count` more bytes in a buffer, from spare memory if possible.
    mutating func lend(_ count: Int, to buffer: inout ByteBuffer) {
        let wanted = buffer.count + count
        guard !buffer.hasRoom(for: count), wanted <= Self.blockBytesMax else { return }
        let row = Self.row(holding: wanted)
        var other = ByteBuffer()
        if let found = rowWithSpare(from: row) { other = pop(found) }
        other.reserve(max(1 << row, wanted))
        other.append(contentsOf: buffer)
        swap(&buffer, &other)
        keep(other)
    }

    mutating func takeBack(from buffer: inout ByteBuffer) {
        guard buffer.isEmpty, buffer.allocatedBytes > 0 else { return }
        var taken = ByteBuffer()
        swap(&taken, &buffer)
        keep(taken)
    }

    mutating func releaseAll() {
        while let row = rowWithSpare(from: 0) { _ = pop(row) }
    }

    private mutating func keep(_ buffer: consuming ByteBuffer) {
        let size = buffer.allocatedBytes
        guard size > 0, size <= Self.blockBytesMax, bytes + size <= Self.pooledBytesMax else { return }
        buffer.removeAll()
        bytes += size
        latestRow = Int.bitWidth - 1 - size.leadingZeroBitCount
        rows[latestRow] = spares.insert(Spare(buffer: buffer, next: rows[latestRow]))
    }

    private func rowWithSpare(from first: Int) -> Int? {
        for row in first..<rows.count where rows[row] != .none { return row }
        return nil
    }

    private mutating func pop(_ row: Int) -> ByteBuffer {
        let spare = spares.remove(rows[row])
        rows[row] = spare.next
        bytes -= spare.buffer.allocatedBytes
        return spare.buffer
    }

    /// The first row whose buffers all have so many bytes.
    private static func row(holding count: Int) -> Int {
        Int.bitWidth - (max(count, 64) - 1).leadingZeroBitCount
    }
}

extension BufferPool: Checked {
    func checkInvariants() throws(BrokenInvariant) {
        var (found, size) = (0, 0)
        for row in 0..<rows.count {
            var next = rows[row]
            while next != .none {
                try Self.always.hold("a row has buffers that are there", spares.contains(next))
                let spare = spares[next].buffer.allocatedBytes
                let isOfRow = Int.bitWidth - 1 - spare.leadingZeroBitCount == row
                try Self.always.hold(
                    "a buffer lies in the row of its size", isOfRow && spares[next].buffer.isEmpty
                )
                (found, size) = (found + 1, size + spare)
                next = spares[next].next
            }
        }
        try Self.always.agree("each buffer lies in a row", spares.count, found)
        try Self.always.agree("its bytes are those of its buffers", bytes, size)
    }
}
