// Reads history for a client, one piece at a time. A piece begins where the last one ended. Its size is limited, and
// so is what is read for it, so that clients take turns. The worker runs it beside the writer, so it reads only lines
// that were flushed before.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// A place in the segments, always between two lines.
public struct ReadPlace: Sendable, Equatable {
    let segment: UInt64
    var offset = 0
    /// The checksum of the line before it.
    var chain: UInt32 = 0
}

/// What to read for a client.
public struct ReadRequest: Sendable {
    /// Identifies the request; the piece gets the same number.
    public let number: UInt64
    public var place: ReadPlace
    /// Skips records up to this revision, and the first `skipping` events of the revision after it.
    public let after: UInt64
    let skipping: Int
    /// The last revision to read.
    public let upTo: UInt64
    /// Only keys that match one of these patterns are read.
    public let patterns: [[UInt8]]
    /// The number of the present segment. The writer sets it.
    var last: UInt64 = 0

    public init(
        number: UInt64, place: ReadPlace, after: UInt64, skipping: Int, upTo: UInt64, patterns: [[UInt8]]
    ) {
        self.number = number
        self.place = place
        self.after = after
        self.skipping = skipping
        self.upTo = upTo
        self.patterns = patterns
    }
}

/// Updates and deletes in order, with the bytes of their lines. The events of a batch are listed one by one.
public struct RecordBatch: Sendable {
    /// One event: where it is in `bytes`, and its members.
    public struct Entry: Sendable {
        public let place: ByteRange
        public let record: RecordLine
    }

    public private(set) var bytes: [UInt8] = []
    public private(set) var entries: [Entry] = []

    mutating func append(_ record: RecordLine, _ line: Span<UInt8>) {
        let start = bytes.count
        bytes.append(line)
        entries.append(Entry(place: ByteRange(start, bytes.count), record: record))
    }

    /// Keeps the memory.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
    }
}

/// What was read for a client.
public struct ReadPiece: Sendable {
    /// The number of the request.
    public let number: UInt64
    public private(set) var records = RecordBatch()
    /// Where the next piece begins; nil after the last piece.
    public private(set) var next: ReadPlace?
    /// Whether the records after these can't be read.
    public private(set) var hasFailed = false
    /// How many bytes of the segments before the present one were read.
    private var passedBytes = 0

    /// Reads a piece.
    init(_ request: ReadRequest, _ store: any FileStore) {
        number = request.number
        do {
            var place = request.place
            while try read(request, from: place, store), place.segment < request.last {
                place = ReadPlace(segment: place.segment + 1)
            }
        } catch {
            hasFailed = true
        }
    }

    /// Returns true if the segment has ended and more is wanted.
    private mutating func read(_ request: ReadRequest, from place: ReadPlace, _ store: any FileStore) throws
        -> Bool
    {
        let name = JournalFiles.segment(place.segment)
        var reader = try LogReader(name, in: store, from: (place.offset, place.chain))
        while try reader.nextRecord() {
            guard try take(reader, request) else { return false }
            // Later lines may be half written now.
            if reader.record.revision >= request.upTo { return false }
            let end = reader.offset + reader.line.count + 1
            if isFull(passedBytes + end - place.offset) {
                next = ReadPlace(segment: place.segment, offset: end, chain: reader.chain)
                return false
            }
        }
        passedBytes += reader.offset - place.offset
        return true
    }

    private func isFull(_ readBytes: Int) -> Bool {
        readBytes >= JournalLimits.pieceReadBytesMax || records.bytes.count >= JournalLimits.pieceBytesMax
            || records.entries.count >= JournalLimits.pieceRecordsMax
    }

    /// Takes a record. Returns false if no later record is wanted.
    private mutating func take(_ reader: borrowing LogReader, _ request: ReadRequest) throws -> Bool {
        let revision = reader.record.revision
        guard revision <= request.upTo else { return false }
        guard revision > request.after else { return true }
        var passed = revision == request.after + 1 ? request.skipping : 0
        try reader.forEachWrite { write, bytes in
            passed -= 1
            let key = write.key.bytes(of: bytes)
            guard passed < 0, request.patterns.contains(where: { Pattern.matches($0.span, key) }) else {
                return
            }
            records.append(write, bytes)
        }
        return true
    }
}
