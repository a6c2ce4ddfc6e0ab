// Memory of outboxes between turns, and of inboxes between half lines: a busy connection
// gets back what fits it, an idle one holds none. Spare blocks lie in rows by their size
// and are linked through their own first bytes, so that keeping them takes no memory.

import PlugboardWire

/// Spare buffer memory, of each size last in first out, so that what is reused is still cached.
struct BufferPool: ~Copyable {
    /// Bytes that are kept at most.
    static let pooledBytesMax = 33_554_432
    /// The largest block that is kept.
    static let blockBytesMax = 1_048_576
    private static let rowCount = row(holding: blockBytesMax) + 1

    private struct Spare: BitwiseCopyable {
        let next: UnsafeMutableRawPointer?
        let storage: ByteBuffer.Storage
    }

    /// The blocks of row n have 2ⁿ bytes or more, but fewer than twice as many.
    private let rows: UnsafeMutableBufferPointer<UnsafeMutableRawPointer?>
    /// Where the last block came to lie.
    private var latestRow = 0
    /// Bytes that are kept.
    private(set) var bytes = 0

    init() {
        rows = .allocate(capacity: Self.rowCount)
        rows.initialize(repeating: nil)
    }

    deinit {
        for row in rows.indices {
            while let spare = Self.pop(rows, row) { ByteBuffer.free(spare) }
        }
        rows.deallocate()
    }

    /// Gives an empty buffer memory, where some is spare: like what was in use last.
    mutating func lend(to buffer: inout ByteBuffer) {
        guard let storage = takeSpare(from: latestRow) ?? takeSpare(from: 0) else { return }
        buffer.giveStorage(storage)
    }

    /// Makes sure that a buffer has room for so many bytes more, without the system's help where
    /// that can be.
    mutating func lend(_ count: Int, to buffer: inout ByteBuffer) {
        let wanted = buffer.count + count
        guard !buffer.hasRoom(for: count), wanted <= Self.blockBytesMax else { return }
        let row = Self.row(holding: wanted)
        let storage = takeSpare(from: row) ?? ByteBuffer.Storage(capacity: 1 << row)
        if let former = buffer.moveBytes(to: storage) { keep(former) }
    }

    /// Takes the memory of a buffer that has become empty.
    mutating func takeBack(from buffer: inout ByteBuffer) {
        if let storage = buffer.takeStorage() { keep(storage) }
    }

    private mutating func keep(_ storage: ByteBuffer.Storage) {
        guard storage.capacity >= MemoryLayout<Spare>.size, storage.capacity <= Self.blockBytesMax,
            bytes + storage.capacity <= Self.pooledBytesMax
        else { return ByteBuffer.free(storage) }
        bytes += storage.capacity
        latestRow = Int.bitWidth - 1 - storage.capacity.leadingZeroBitCount
        storage.address.storeBytes(of: Spare(next: rows[latestRow], storage: storage), as: Spare.self)
        rows[latestRow] = storage.address
    }

    /// A block of that row, or of one with larger ones.
    private mutating func takeSpare(from first: Int) -> ByteBuffer.Storage? {
        for row in first..<rows.count {
            guard let storage = Self.pop(rows, row) else { continue }
            bytes -= storage.capacity
            return storage
        }
        return nil
    }

    private static func pop(
        _ rows: UnsafeMutableBufferPointer<UnsafeMutableRawPointer?>,
        _ row: Int
    ) -> ByteBuffer.Storage? {
        guard let block = rows[row] else { return nil }
        let spare = block.load(as: Spare.self)
        rows[row] = spare.next
        return spare.storage
    }

    /// The row of which each block has so many bytes.
    private static func row(holding count: Int) -> Int {
        Int.bitWidth - (max(count, 64) - 1).leadingZeroBitCount
    }
}
