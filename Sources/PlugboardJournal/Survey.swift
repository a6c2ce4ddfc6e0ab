// Finds the newest write of each key. It reads the files twice, each time from front to back with all checksums. In
// memory it keeps keys and the places of their writes in that order; values stay in the files. Snapshots are made of it.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The newest writes of several files.
struct Survey: ~Copyable {
    private let store: any FileStore
    private let names: [String]
    private(set) var latest = LatestWrites()
    private var header = FileHeader(kind: .snapshot, segment: 0, epoch: "", revision: 0)
    /// The time of the last record, in milliseconds since 1970.
    private(set) var when: UInt64 = 0

    /// Reads files, in this order. Damage is passed to `skip`, which throws if it may not be skipped.
    init(_ store: any FileStore, _ names: [String], skip: (Damage) throws -> Void = { throw $0.error }) throws
    {
        self.store = store
        self.names = names
        var number: UInt64 = 0
        try LogReader.read(names, in: store, skip: skip) { reader in
            note(reader)
            return reader.record.forEachWrite(of: reader.line) { write, bytes in
                number += 1
                latest.note(write.key.bytes(of: bytes), at: write.kind == .update ? number : 0)
            }
        }
    }

    /// The first line of a snapshot of what was read.
    func header(upTo segment: UInt64) -> FileHeader {
        var header = self.header
        (header.segment, header.keys) = (segment, latest.count)
        return header
    }

    /// Frees the memory of all keys.
    mutating func removeAll() {
        latest.removeAll()
    }

    private mutating func note(_ reader: borrowing LogReader) {
        if reader.record.when > 0 { when = reader.record.when }
        header.revision = max(header.revision, reader.record.revision)
        if let first = FileHeader(reader.record, reader.line) {
            (header.epoch, header.boot, header.previous) = (first.epoch, first.boot, first.previous)
        }
        // What a snapshot says of the record before it counts, not its own records.
        if !reader.record.isOfSnapshot { header.previous = reader.chain }
    }

    /// Passes the newest update of each key to `body`, in the order of the files. Each lacks its end: the checksum or,
    /// in a batch, the closing brace. `when` is 0 if the record itself has its time.
    func forEachLatest(_ body: (Span<UInt8>, _ when: UInt64) throws -> Void) throws {
        var (number, left) = (0 as UInt64, latest.count)
        try LogReader.read(names, in: store, skip: { _ in }) { reader in
            let isBatch = reader.record.kind == .batch
            let endBytes = isBatch ? 1 : RecordEnd.bytes
            return try reader.record.forEachWrite(of: reader.line) { write, bytes in
                number += 1
                guard latest.place(of: write.key.bytes(of: bytes)) == number else { return }
                left -= 1
                try body(bytes[..<(bytes.count - endBytes)], isBatch ? write.when : 0)
            }
        }
        guard left == 0 else {
            let place = JournalPlace(file: names.last ?? "", offset: 0, line: 0)
            throw JournalError.damaged(place, "the files have changed")
        }
    }
}

// A table of keys with the places of their newest writes. All keys are in one piece of memory, one after another, so a
// million keys take no million allocations.

/// The number of the newest write of each key.
struct LatestWrites: ~Copyable {
    private struct Entry: BitwiseCopyable {
        /// 0 if the key has no value.
        var place: UInt64
        /// The offset of the key in `keys`.
        let keyStart: Int
        let keyCount: Int
    }

    private var entries = List<Entry>()
    private var keys = ByteBuffer()
    /// The entries by their keys. Its slots begin with 1.
    private var index = HashIndex()
    /// The number of keys that have a value.
    private(set) var count = 0

    init() {}

    /// Notes a write. A delete has the place 0.
    mutating func note(_ key: Span<UInt8>, at place: UInt64) {
        let entry = find(key)
        if let entry, entries[entry].place > 0 { count -= 1 }
        if place > 0 { count += 1 }
        if let entry { entries[entry].place = place } else if place > 0 { add(key, at: place) }
    }

    /// The newest write of a key; nil if the key isn't known.
    func place(of key: Span<UInt8>) -> UInt64? { find(key).map { entries[$0].place } }

    /// Removes everything. Gives the memory back in a way that doesn't hold up other threads.
    mutating func removeAll() {
        var freed = entries.mutableSpan
        MemoryPages.giveBack(&freed)
        var freedKeys = keys.mutableBytes
        MemoryPages.giveBack(&freedKeys)
        self = LatestWrites()
    }

    private func find(_ key: Span<UInt8>) -> Int? {
        var search = index.search(key.seededHash)
        while let slot = index.next(&search) {
            let entry = entries[Int(slot) - 1]
            let end = entry.keyStart + entry.keyCount
            if entry.keyCount == key.count, keys.bytes[entry.keyStart..<end].isEqual(to: key) {
                return Int(slot) - 1
            }
        }
        return nil
    }

    private mutating func add(_ key: Span<UInt8>, at place: UInt64) {
        entries.append(Entry(place: place, keyStart: keys.count, keyCount: key.count))
        keys.append(key)
        index.insert(key.seededHash, UInt32(truncatingIfNeeded: entries.count))
    }
}
