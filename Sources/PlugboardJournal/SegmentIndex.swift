// The segments in the folder: which revisions are in which one, for clients that ask for what they missed; how many
// bytes they have; and which of them stay as history. Nobody else counts segments. The writer owns it.

import PlugboardPosix

/// The segments that exist, with the present one.
struct SegmentIndex {
    struct Entry {
        let number: UInt64
        /// The revision of the last record before the segment; nil if nobody can read on from here.
        var revision: UInt64?
        /// 0 for the present segment.
        var bytes = 0
    }

    private var entries: [Entry] = []
    /// How many clients read each segment.
    private var pins: [UInt64: Int] = [:]
    /// The last segment that a snapshot replaces.
    var snapshot: UInt64 { didSet { looseBytes = bytes(from: snapshot + 1) } }
    /// The bytes of all ended segments, and of those that no snapshot replaces.
    private(set) var heldBytes = 0
    private(set) var looseBytes = 0

    /// Reads the first lines of the segments, and begins the one after them. A client can't read one that has another
    /// epoch, or that can't be opened: a start doesn't need those that a snapshot replaces.
    init(_ store: any FileStore, epoch: String, after recovered: Recovered) throws {
        snapshot = recovered.snapshot
        for number in JournalFiles(names: try store.names()).segments {
            let name = JournalFiles.segment(number)
            let header = (try? FileHeader.of(name, in: store)).flatMap {
                $0.kind == .segment && $0.epoch == epoch ? $0 : nil
            }
            begin(number, after: header?.revision)
            end(bytes: (try? store.open(name).bytes) ?? 0)
        }
        begin(recovered.lastSegment + 1, after: recovered.revision)
    }

    /// The number of ended segments that no snapshot replaces.
    var looseSegments: Int { entries.dropLast().count { $0.number > snapshot } }

    private func bytes(from first: UInt64) -> Int {
        entries.reduce(0) { $0 + ($1.number >= first ? $1.bytes : 0) }
    }

    /// Begins the next segment. Nobody can read across a gap before it.
    mutating func begin(_ number: UInt64, after revision: UInt64?) {
        if let last = entries.indices.last, entries[last].number + 1 != number {
            entries[last].revision = nil
        }
        entries.append(Entry(number: number, revision: revision))
    }

    /// Ends the last segment.
    mutating func end(bytes: Int) {
        guard let last = entries.indices.last else { return }
        entries[last].bytes = bytes
        heldBytes += bytes
        if entries[last].number > snapshot { looseBytes += bytes }
    }

    /// The segment with the first write after `revision`; nil if it is gone.
    func segment(after revision: UInt64) -> UInt64? {
        for entry in entries.reversed() {
            guard let before = entry.revision else { return nil }
            if before <= revision { return entry.number }
        }
        return nil
    }

    mutating func pin(_ number: UInt64) {
        pins[number, default: 0] += 1
    }

    mutating func unpin(_ number: UInt64) {
        let count = pins[number, default: 0] - 1
        pins[number] = count > 0 ? count : nil
    }

    /// How many bytes of ended segments to keep: the history, and more while a client reads older
    /// segments.
    func bytesToKeep(_ historyBytes: Int) -> Int {
        guard let first = pins.keys.min() else { return historyBytes }
        return max(historyBytes, min(bytes(from: first), historyBytes + JournalLimits.readingBytesMax))
    }

    /// Forgets the segments that the snapshot replaces, except the last ones that have so many bytes. Returns them.
    mutating func forgetOld(keeping historyBytes: Int) -> ArraySlice<Entry> {
        let most = JournalLimits.segmentsKeptMax(historyBytes: historyBytes)
        var (first, kept) = (max(0, entries.count - 1), 0)
        while first > 0, kept < historyBytes, entries.count - first <= most {
            first -= 1
            kept += entries[first].bytes
        }
        let old = entries[..<first].prefix { $0.number <= snapshot }
        entries.removeFirst(old.count)
        heldBytes -= old.reduce(0) { $0 + $1.bytes }
        return old
    }
}
