// Finds the newest record of each key. It reads each file once, from front to back. It keeps keys and
// places in memory; values stay in the files. The compactor owns it.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The newest records of several files.
struct Survey: ~Copyable {
    private let store: any FileStore
    private var files: [String] = []
    private(set) var index = KeyPlaces()
    private var epoch = ""
    private var boot = ""
    private var revision: UInt64 = 0
    /// The time of the last record, in milliseconds since 1970.
    private(set) var when: UInt64 = 0
    /// The checksum of the last record.
    private var chain: UInt32 = 0
    private(set) var segmentBytes = 0
    private let progress: CompactionProgress?

    init(_ store: any FileStore, _ progress: CompactionProgress? = nil) {
        self.store = store
        self.progress = progress
    }

    /// The first line of a snapshot of what was read.
    func header(upTo segment: UInt64) -> FileHeader {
        FileHeader(
            kind: .snapshot,
            segment: segment,
            epoch: epoch,
            boot: boot,
            revision: revision,
            previous: chain,
            keys: index.count
        )
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
        var told = 0
        reading: while true {
            switch try reader.next() {
            case .end: break reading
            case .damage(let damage): try skip(damage)
            case .record:
                if !take(reader) { try skip(reader.damage("the batch can't be read")) }
            }
            if reader.offset - told >= JournalLimits.snapshotPieceBytes {
                progress?.add(reader.offset - told)
                told = reader.offset
            }
        }
        guard !JournalFiles.isSnapshot(name) else { return }
        chain = reader.chain
        segmentBytes += reader.fileBytes
    }

    /// Returns false if the record is a batch that can't be read.
    private mutating func take(_ reader: borrowing LogReader) -> Bool {
        let file = UInt32(truncatingIfNeeded: files.count - 1)
        let line = reader.line
        let offset = UInt64(reader.offset)
        if reader.record.when > 0 { when = reader.record.when }
        revision = max(revision, reader.record.revision)
        if let header = FileHeader(reader.record, line) {
            (epoch, boot) = (header.epoch, header.boot)
            if header.kind == .snapshot { chain = header.previous }
        }
        let endBytes = reader.record.kind == .batch ? 1 : RecordEnd.bytes
        return reader.record.forEachWrite(of: line) { write, bytes, place in
            let key = write.key.bytes(of: bytes)
            guard write.kind == .update else { return index.remove(key) }
            let count = UInt32(truncatingIfNeeded: bytes.count - endBytes)
            index.set(key, KeyPlace(file: file, count: count, offset: offset + UInt64(place)))
        }
    }

    /// Passes the newest record of each key to `body`, in the order of the files. Each lacks its end: the
    /// checksum or, in a batch, the closing brace.
    mutating func forEachLatest(_ body: (Span<UInt8>) throws -> Void) throws {
        var places = index.places(ofFiles: files.count)
        for (number, name) in files.enumerated() where !places[number].isEmpty {
            // Not all at once before the first: for very many that takes long, and there would be no progress.
            places[number].sort { $0.offset < $1.offset }
            try show(name, places[number], body)
            places[number] = []
        }
    }

    private func show(_ name: String, _ places: [KeyPlace], _ body: (Span<UInt8>) throws -> Void) throws {
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
            try body(window.bytes[..<count])
        }
    }
}

/// Where a record is: a file's number and an offset. Its end isn't counted: the checksum or, in a batch, the closing
/// brace.
struct KeyPlace: BitwiseCopyable {
    var file: UInt32
    var count: UInt32
    var offset: UInt64
}
