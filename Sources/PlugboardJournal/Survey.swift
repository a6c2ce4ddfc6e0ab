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
    private(set) var epoch = ""
    private(set) var boot = ""
    private(set) var revision: UInt64 = 0
    /// The time of the last record, in milliseconds since 1970.
    private(set) var when: UInt64 = 0
    /// The checksum of the last record.
    private(set) var chain: UInt32 = 0
    private(set) var segmentBytes = 0
    private let progress: CompactionProgress?

    init(_ store: any FileStore, _ progress: CompactionProgress? = nil) {
        self.store = store
        self.progress = progress
    }

    /// Frees the memory of all places.
    mutating func removeAll() {
        index.removeAll()
    }

    /// Reads a file. Call it in the order of the files. Throws `JournalError.damaged`.
    mutating func read(_ name: String) throws {
        var reader = try LogReader(name, in: store)
        let number = UInt32(truncatingIfNeeded: files.count)
        files.append(name)
        var isSnapshot = false
        if try next(&reader) {
            let record = try Self.record(reader)
            isSnapshot = record.kind == .snapshot
            open(record, reader.line)
            note(record.when)
        }
        var told = 0
        while try next(&reader) {
            let line = reader.line
            let place = KeyPlace(file: number, offset: UInt64(reader.offset))
            if reader.offset - told >= JournalLimits.snapshotPieceBytes {
                progress?.add(reader.offset - told)
                told = reader.offset
            }
            if let plain = PlainRecord(line), let when = plain.when {
                take(plain, line, place)
                note(when)
            } else {
                let record = try Self.record(reader)
                take(record, line, place)
                note(record.when)
            }
        }
        if !isSnapshot {
            chain = reader.chain
            segmentBytes += reader.fileBytes
        }
    }

    /// Returns false at the end.
    private func next(_ reader: inout LogReader) throws -> Bool {
        switch try reader.next() {
        case .end: return false
        case .damage(let damage): throw JournalError.damaged(damage.place, damage.what)
        case .line: return true
        }
    }

    private static func record(_ reader: borrowing LogReader) throws -> RecordLine {
        guard let record = RecordLine(reader.line) else {
            throw JournalError.damaged(reader.place, "the line is no record")
        }
        return record
    }

    private mutating func note(_ when: UInt64) {
        if when > 0 { self.when = when }
    }

    private mutating func open(_ record: RecordLine, _ line: Span<UInt8>) {
        epoch = String(record.epoch.bytes(of: line))
        boot = String(record.boot.bytes(of: line))
        revision = max(revision, record.revision)
        if record.kind == .snapshot { chain = record.previous ?? 0 }
    }

    /// Notes a record without reading its value.
    @inline(__always)
    private mutating func take(_ record: PlainRecord, _ line: Span<UInt8>, _ place: KeyPlace) {
        if record.isUpdate {
            index.set(record.key.bytes(of: line), place)
        } else {
            index.remove(record.key.bytes(of: line))
        }
        revision = max(revision, record.revision)
    }

    private mutating func take(_ record: RecordLine, _ line: Span<UInt8>, _ place: KeyPlace) {
        switch record.kind {
        case .update: index.set(record.key.bytes(of: line), place)
        case .delete: index.remove(record.key.bytes(of: line))
        case .batch:
            _ = record.forEachEvent(of: line) { range in
                let event = range.bytes(of: line)
                guard let part = RecordLine(event) else { return }
                guard part.kind == .update else { return index.remove(part.key.bytes(of: event)) }
                let offset = place.offset + UInt64(range.start)
                index.set(
                    part.key.bytes(of: event),
                    KeyPlace(file: place.file, offset: offset, count: UInt32(event.count))
                )
            }
        default: break
        }
        revision = max(revision, record.revision)
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

    private func show(
        _ name: String,
        _ places: [KeyPlace],
        _ body: (Span<UInt8>) throws -> Void
    )
        throws
    {
        var reader = PlaceReader(try store.open(name))
        for place in places {
            guard try reader.move(to: Int(place.offset), count: Int(place.count)) else {
                throw JournalError.damaged(
                    JournalPlace(file: name, offset: Int(place.offset), line: 0),
                    "the file has changed"
                )
            }
            try body(reader.record)
        }
    }
}

/// Where a record is: a file's number and an offset.
struct KeyPlace: BitwiseCopyable {
    var file: UInt32
    /// The bytes of an event in a batch; 0 for a record that is a whole line.
    var count: UInt32 = 0
    var offset: UInt64

    init(file: UInt32, offset: UInt64, count: UInt32 = 0) {
        self.file = file
        self.offset = offset
        self.count = count
    }
}

/// Reads records of one file at ascending offsets.
private struct PlaceReader: ~Copyable {
    private let file: any ReadableFile
    private var window = ByteBuffer()
    private var offset = 0
    private var recordBytes = 0

    init(_ file: any ReadableFile) {
        self.file = file
    }

    /// The record without its end.
    var record: Span<UInt8> {
        @_lifetime(borrow self)
        get { window.bytes[..<recordBytes] }
    }

    /// Moves to a record. Returns false if there is no record, so the file has changed.
    mutating func move(to place: Int, count: Int) throws -> Bool {
        if place > offset + window.count || place < offset {
            window.removeAll()
            offset = place
        } else {
            window.removeFirst(place - offset)
            offset = place
        }
        if count > 0 {
            while window.count < count { guard try fill() else { return false } }
            recordBytes = count - 1
            return window.bytes[count - 1] == UInt8(ascii: "}")
        }
        var searched = 0
        while true {
            if let feed = LineFramer.lineFeed(in: window.bytes, from: searched) {
                recordBytes = max(0, feed - RecordEnd.bytes)
                return recordBytes > 0
            }
            searched = window.count
            guard try fill() else { return false }
        }
    }

    private mutating func fill() throws -> Bool {
        let before = window.count
        try window.append(upTo: JournalLimits.readBytes) { room in
            try file.read(at: offset + before, into: &room)
        }
        return window.count > before
    }
}
