// Knows which revisions are in which segment, for clients that ask for what they missed. Decides which
// segments stay as history after a snapshot. The writer owns it.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The segments that exist, without gaps.
struct SegmentIndex {
    private struct Entry {
        let number: UInt64
        /// The revision of the last record before the segment.
        let revision: UInt64
        /// 0 for the present segment.
        var bytes: Int
    }

    private var entries: [Entry] = []
    /// How many clients read each segment.
    private var pins: [UInt64: Int] = [:]

    /// Reads the first lines of the segments, from the newest back to the first one that can't be read or
    /// has another epoch.
    init(_ store: any FileStore, epoch: String) {
        let numbers = (try? store.names()).map { JournalFiles(names: $0).segments } ?? []
        var found: [Entry] = []
        for number in numbers.reversed() {
            if let next = found.last, number + 1 != next.number { break }
            guard let entry = try? Self.entry(number, store, epoch) else { break }
            found.append(entry)
        }
        entries = found.reversed()
    }

    private static func entry(_ number: UInt64, _ store: any FileStore, _ epoch: String) throws -> Entry? {
        let name = JournalFiles.segment(number)
        guard let header = try FileHeader.of(name, in: store), header.kind == .segment, header.epoch == epoch
        else { return nil }
        return Entry(number: number, revision: header.revision, bytes: try store.open(name).bytes)
    }

    /// Begins the next segment.
    mutating func begin(_ number: UInt64, after revision: UInt64) {
        if let last = entries.last, last.number + 1 != number { entries = [] }
        entries.append(Entry(number: number, revision: revision, bytes: 0))
    }

    /// Ends the last segment.
    mutating func end(bytes: Int) {
        if let last = entries.indices.last { entries[last].bytes = bytes }
    }

    /// The segment with the first write after `revision`; nil if it is gone.
    func segment(after revision: UInt64) -> UInt64? {
        entries.last { $0.revision <= revision }?.number
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
    func bytesToKeep(upTo last: UInt64, _ historyBytes: Int) -> Int {
        guard let first = pins.keys.min() else { return historyBytes }
        let read = entries.filter { $0.number >= first && $0.number <= last }.reduce(0) { $0 + $1.bytes }
        return max(historyBytes, min(read, historyBytes + JournalLimits.readingBytesMax))
    }

    /// The bytes of the segments that are kept for that. It can be more, because only whole segments are
    /// removed.
    func bytesKept(upTo last: UInt64, _ historyBytes: Int) -> Int {
        let wanted = bytesToKeep(upTo: last, historyBytes)
        var bytes = 0
        for entry in entries.reversed() where entry.number <= last {
            if bytes >= wanted { break }
            bytes += entry.bytes
        }
        return bytes
    }

    /// Forgets the segments that a snapshot replaces and the history doesn't need. Segments after
    /// `snapshot` stay, because no snapshot replaces them yet. Returns the numbers of those that it forgot.
    @discardableResult
    mutating func forget(upTo last: UInt64, historyBytes: Int, snapshot: UInt64 = .max) -> [UInt64] {
        let bytes = Dictionary(uniqueKeysWithValues: entries.map { ($0.number, $0.bytes) })
        let numbers = entries.map(\.number)
        let first = Self.firstKept(of: numbers, upTo: last, historyBytes: historyBytes) { bytes[$0] ?? 0 }
        entries.removeAll { $0.number < first && $0.number <= snapshot }
        return numbers.filter { $0 < first && $0 <= snapshot }
    }

    /// The first segment to keep of those up to `last`: enough of them for `historyBytes`.
    static func firstKept(
        of numbers: [UInt64], upTo last: UInt64, historyBytes: Int, bytes: (UInt64) throws -> Int
    ) rethrows -> UInt64 {
        var first = last + 1
        var kept = 0
        for number in numbers.reversed() where number <= last {
            if kept >= historyBytes
                || last - number >= JournalLimits.segmentsKeptMax(historyBytes: historyBytes)
            {
                break
            }
            kept += try bytes(number)
            first = number
        }
        return first
    }
}
