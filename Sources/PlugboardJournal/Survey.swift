// Finds the newest record of each key. It reads each file once, from front to back. It keeps keys and
// places in memory; values stay in the files. Snapshots are made of it.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The newest records of several files.
struct Survey: ~Copyable {
    private let store: any FileStore
    private var files: [String] = []
    private(set) var index = KeyPlaces()
    private var header = FileHeader(kind: .snapshot, segment: 0, epoch: "", revision: 0)
    /// The time of the last record, in milliseconds since 1970.
    private(set) var when: UInt64 = 0

    init(_ store: any FileStore) {
        self.store = store
    }

    /// The first line of a snapshot of what was read.
    func header(upTo segment: UInt64) -> FileHeader {
        var header = self.header
        (header.segment, header.keys) = (segment, index.count)
        return header
    }

    /// Frees the memory of all places.
    mutating func removeAll() {
        index.removeAll()
    }

    /// Reads a file. Call it in the order of the files. Damage is passed to `skip`, which throws if it may not be
    /// skipped.
    mutating func read(_ name: String, skip: (Damage) throws -> Void = { throw $0.error }) throws {
        var reader = try LogReader(name, in: store)
        files.append(name)
        reading: while true {
            switch try reader.next() {
            case .end: break reading
            case .damage(let damage): try skip(damage)
            case .record:
                if !take(reader) { try skip(reader.damage("the batch can't be read")) }
            }
        }
        if !JournalFiles.isSnapshot(name) { header.previous = reader.chain }
    }

    /// Returns false if the record is a batch that can't be read.
    private mutating func take(_ reader: borrowing LogReader) -> Bool {
        let file = UInt32(truncatingIfNeeded: files.count - 1)
        let line = reader.line
        let offset = UInt64(reader.offset)
        if reader.record.when > 0 { when = reader.record.when }
        header.revision = max(header.revision, reader.record.revision)
        if let first = FileHeader(reader.record, line) {
            (header.epoch, header.boot) = (first.epoch, first.boot)
            if first.kind == .snapshot { header.previous = first.previous }
        }
        let isBatch = reader.record.kind == .batch
        let endBytes = isBatch ? 1 : RecordEnd.bytes
        return reader.record.forEachWrite(of: line) { write, bytes, place in
            let key = write.key.bytes(of: bytes)
            guard write.kind == .update else { return index.remove(key) }
            let count = UInt32(truncatingIfNeeded: bytes.count - endBytes)
            let offset = offset + UInt64(place)
            // An event of a batch has the batch's time.
            let seconds = isBatch ? write.seconds : 0
            index.set(key, KeyPlace(file: file, count: count, offset: offset, seconds: seconds))
        }
    }

    /// Passes the newest record of each key to `body`, in the order of the files. Each lacks its end: the
    /// checksum or, in a batch, the closing brace. `when` is 0 if the record itself has its time.
    mutating func forEachLatest(_ body: (Span<UInt8>, _ when: UInt64) throws -> Void) throws {
        var places = index.places(ofFiles: files.count)
        for (number, name) in files.enumerated() where !places[number].isEmpty {
            places[number].sort { $0.offset < $1.offset }
            try show(name, places[number], body)
            places[number] = []
        }
    }

    private func show(_ name: String, _ places: [KeyPlace], _ body: (Span<UInt8>, UInt64) throws -> Void)
        throws
    {
        let file = try store.open(name)
        var window = ByteBuffer()
        var offset = 0
        for place in places {
            let (start, count) = (Int(place.offset), Int(place.count))
            // Records are a few bytes apart, or much is skipped.
            window.removeFirst(min(window.count, start - offset))
            offset = start
            while window.count < count {
                let before = window.count
                try window.append(upTo: JournalLimits.readBytes) { room in
                    try file.read(at: offset + before, into: &room)
                }
                if window.count == before { break }
            }
            guard window.count >= count, window.bytes.first == UInt8(ascii: "{") else {
                let place = JournalPlace(file: name, offset: start, line: 0)
                throw JournalError.damaged(place, "the file has changed")
            }
            try body(window.bytes[..<count], UInt64(place.seconds) * 1000)
        }
    }
}

// A table of keys with the places of their newest records. All keys are in one piece of memory, one after
// another, so a million keys take no million allocations.

/// Where a record is: a file's number and an offset. Its end isn't counted: the checksum or, in a batch, the closing
/// brace.
struct KeyPlace: BitwiseCopyable {
    var file: UInt32
    var count: UInt32
    var offset: UInt64
    /// When it was written, in seconds since 1970; 0 if the record says so itself.
    var seconds: UInt32
}

/// The place of a record for each key.
struct KeyPlaces: ~Copyable {
    private struct Entry: BitwiseCopyable {
        var place = KeyPlace(file: 0, count: 0, offset: 0, seconds: 0)
        /// The offset of the key in `keys`.
        let keyStart: Int
        let keyCount: UInt32
        var isPresent = false
    }

    private var entries = List<Entry>()
    private var keys = ByteBuffer()
    /// The entries by their keys. Its slots begin with 1.
    private var index = HashIndex()
    /// The number of keys that have a place.
    private(set) var count = 0
    /// The entry that was used last. Most records are for the key of the record before.
    private var last = 0

    init() {}

    mutating func set(_ key: Span<UInt8>, _ place: KeyPlace) {
        let entry = find(key) ?? add(key)
        if !entries[entry].isPresent { count += 1 }
        entries[entry].isPresent = true
        entries[entry].place = place
    }

    /// Removes a key if it has a place. Its entry stays.
    mutating func remove(_ key: Span<UInt8>) {
        guard let entry = find(key), entries[entry].isPresent else { return }
        entries[entry].isPresent = false
        count -= 1
    }

    /// The places in each file, in no particular order.
    func places(ofFiles files: Int) -> [[KeyPlace]] {
        var places = [[KeyPlace]](repeating: [], count: files)
        for entry in entries.indices where entries[entry].isPresent {
            let place = entries[entry].place
            places[Int(place.file)].append(place)
        }
        return places
    }

    /// Removes everything. Gives the memory back in a way that doesn't hold up other threads.
    mutating func removeAll() {
        var freed = entries.mutableSpan
        MemoryPages.giveBack(&freed)
        var freedKeys = keys.mutableBytes
        MemoryPages.giveBack(&freedKeys)
        self = KeyPlaces()
    }

    private mutating func find(_ key: Span<UInt8>) -> Int? {
        if last < entries.count, has(last, key) { return last }
        var search = index.search(key.seededHash)
        while let slot = index.next(&search) {
            last = Int(slot) - 1
            if has(last, key) { return last }
        }
        return nil
    }

    private func has(_ entry: Int, _ key: Span<UInt8>) -> Bool {
        let (start, count) = (entries[entry].keyStart, Int(entries[entry].keyCount))
        return count == key.count && keys.bytes[start..<start + count].isEqual(to: key)
    }

    private mutating func add(_ key: Span<UInt8>) -> Int {
        last = entries.count
        entries.append(Entry(keyStart: keys.count, keyCount: UInt32(truncatingIfNeeded: key.count)))
        keys.append(key)
        index.insert(key.seededHash, UInt32(truncatingIfNeeded: entries.count))
        return last
    }
}
