// Where the newest record of each key stands in files that are read once, front to back.
// Values stay in their files; only keys and places are kept.

import PlugboardPosix
import PlugboardWire

/// The newest records of some files.
struct Survey: ~Copyable {
    private let store: any FileStore
    private var files: [String] = []
    private(set) var index = KeyPlaces()
    private(set) var epoch = ""
    private(set) var boot = ""
    private(set) var revision: UInt64 = 0
    /// When the last record was written.
    private(set) var when: UInt64 = 0
    /// The checksum of the last record.
    private(set) var chain: UInt32 = 0
    private(set) var segmentBytes = 0
    private let progress: CompactionProgress?

    init(_ store: any FileStore, _ progress: CompactionProgress? = nil) {
        self.store = store
        self.progress = progress
    }

    /// Forgets all places.
    mutating func removeAll() {
        index.removeAll()
    }

    /// Reads the next file.
    mutating func read(_ name: String) throws {
        var reader = try LogReader(name, in: store)
        let number = UInt32(truncatingIfNeeded: files.count)
        files.append(name)
        var isSnapshot = false
        if let line = try next(&reader) {
            let record = try Self.record(line, reader)
            isSnapshot = record.kind == .snapshot
            open(record, line)
            note(record.when)
        }
        var told = 0
        while let line = try next(&reader) {
            let place = KeyPlace(file: number, offset: UInt64(reader.offset))
            if reader.offset - told >= JournalLimits.laidOutBytes {
                progress?.add(reader.offset - told)
                told = reader.offset
            }
            if let plain = PlainRecord(line), let when = plain.when {
                take(plain, line, place)
                note(when)
            } else {
                let record = try Self.record(line, reader)
                take(record, line, place)
                note(record.when)
            }
        }
        if !isSnapshot {
            chain = reader.chain
            segmentBytes += reader.fileBytes
        }
    }

    private func next(_ reader: inout LogReader) throws -> UnsafeRawBufferPointer? {
        switch try reader.next() {
        case .end: return nil
        case .damage(let damage): throw JournalError.damaged(damage.place, damage.what)
        case .line(let line): return line
        }
    }

    private static func record(_ line: UnsafeRawBufferPointer, _ reader: borrowing LogReader) throws
        -> RecordLine
    {
        guard let record = RecordLine(line) else { throw JournalError.damaged(reader.place, "no record") }
        return record
    }

    private mutating func note(_ when: UInt64) {
        if when > 0 { self.when = when }
    }

    private mutating func open(_ record: RecordLine, _ line: UnsafeRawBufferPointer) {
        epoch = String(decoding: record.epoch.bytes(of: line), as: UTF8.self)
        boot = String(decoding: record.boot.bytes(of: line), as: UTF8.self)
        revision = max(revision, record.revision)
        if record.kind == .snapshot { chain = record.previous ?? 0 }
    }

    /// Its value stays where it is, so that it needn't be looked at.
    @inline(__always)
    private mutating func take(_ record: PlainRecord, _ line: UnsafeRawBufferPointer, _ place: KeyPlace) {
        if record.isUpdate {
            index.set(record.key.bytes(of: line), place)
        } else {
            index.remove(record.key.bytes(of: line))
        }
        revision = max(revision, record.revision)
    }

    private mutating func take(_ record: RecordLine, _ line: UnsafeRawBufferPointer, _ place: KeyPlace) {
        switch record.kind {
        case .update: index.set(record.key.bytes(of: line), place)
        case .delete: index.remove(record.key.bytes(of: line))
        case .batch:
            _ = record.forEachEvent(of: line) { event in
                guard let part = RecordLine(event), let base = line.baseAddress, let at = event.baseAddress
                else { return }
                guard part.kind == .update else { return index.remove(part.key.bytes(of: event)) }
                let offset = place.offset + UInt64(at - base)
                index.set(
                    part.key.bytes(of: event),
                    KeyPlace(file: place.file, offset: offset, count: UInt32(event.count))
                )
            }
        default: break
        }
        revision = max(revision, record.revision)
    }

    /// Shows each key's newest record, in the order of the files: from its brace up to the
    /// checksum, or, of a batch, to the closing brace.
    mutating func forEachLatest(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        var places = index.places()
        places.sort { ($0.file, $0.offset) < ($1.file, $1.offset) }
        var next = 0
        for (number, name) in files.enumerated() {
            let first = next
            while next < places.count, places[next].file == UInt32(number) { next += 1 }
            if next > first { try show(name, places[first..<next], body) }
        }
    }

    private func show(
        _ name: String,
        _ places: ArraySlice<KeyPlace>,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    )
        throws
    {
        var reader = PlaceReader(try store.open(name))
        for place in places {
            let bytes = try reader.bytes(at: Int(place.offset), count: Int(place.count))
            guard let bytes else {
                throw JournalError.damaged(
                    JournalPlace(file: name, offset: Int(place.offset), line: 0),
                    "it changed"
                )
            }
            try body(bytes)
        }
    }
}

/// Where a record stands.
struct KeyPlace: BitwiseCopyable {
    var file: UInt32
    /// Bytes of a record within a batch; 0: up to the end of its line.
    var count: UInt32 = 0
    var offset: UInt64

    init(file: UInt32, offset: UInt64, count: UInt32 = 0) {
        self.file = file
        self.offset = offset
        self.count = count
    }
}

/// Reads records at ascending places of a file.
private struct PlaceReader: ~Copyable {
    private let file: any ReadableFile
    private var window = ByteBuffer()
    private var offset = 0

    init(_ file: any ReadableFile) {
        self.file = file
    }

    /// The record without what its line ends with; valid until the next call. Nil where the
    /// file isn't what it was.
    mutating func bytes(at place: Int, count: Int) throws -> UnsafeRawBufferPointer? {
        if place > offset + window.count || place < offset {
            window.removeAll()
            offset = place
        } else {
            window.removeFirst(place - offset)
            offset = place
        }
        if count > 0 {
            while window.count < count { guard try fill() else { return nil } }
            guard window.bytes[count - 1] == UInt8(ascii: "}") else { return nil }
            return UnsafeRawBufferPointer(rebasing: window.bytes[..<(count - 1)])
        }
        var searched = 0
        while true {
            if let feed = LineFramer.lineFeed(in: window.bytes, from: searched) {
                guard feed > RecordEnd.bytes else { return nil }
                return UnsafeRawBufferPointer(rebasing: window.bytes[..<(feed - RecordEnd.bytes)])
            }
            searched = window.count
            guard try fill() else { return nil }
        }
    }

    private mutating func fill() throws -> Bool {
        let room = window.reserve(JournalLimits.readBytes)
        let target = UnsafeMutableRawBufferPointer(start: room, count: JournalLimits.readBytes)
        let count = try file.read(at: offset + window.count, into: target)
        window.commit(count)
        return count > 0
    }
}
