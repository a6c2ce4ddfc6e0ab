// The files in a journal's folder, by their names. A segment or snapshot has a number and counts only if
// its name is spelled exactly as this program writes it, with a possible number. A snapshot replaces all segments up to its own
// number.

/// The names of one journal's files.
struct JournalFiles {
    /// Numbers, ascending.
    private(set) var segments: [UInt64] = []
    private(set) var snapshots: [UInt64] = []
    private(set) var unfinished: [String] = []
    /// Torn ends that crashes left, ordered by segment.
    private(set) var torn: [String] = []
    /// Ordered; the last one counts. There can be several after a backup of the folder was restored.
    private(set) var signposts: [Signpost] = []
    /// See `FileStore.makeMark`.
    private(set) var marks: [String] = []
    /// Whether an earlier broker couldn't bring to disk what it had written.
    private(set) var hasFailed = false

    init(names: [String]) {
        for name in names {
            if name.hasSuffix(Self.unfinishedEnd) {
                unfinished.append(name)
            } else if let number = Self.number(name, Self.segmentStart) {
                segments.append(number)
            } else if let number = Self.number(name, Self.snapshotStart) {
                snapshots.append(number)
            } else if let signpost = Self.signpost(name) {
                signposts.append(signpost)
            } else if name.hasPrefix(Self.tornStart) {
                torn.append(name)
            } else if name.hasPrefix(Self.markStart) {
                marks.append(name)
            } else if name == Self.failed {
                hasFailed = true
            }
        }
        segments.sort()
        snapshots.sort()
        torn.sort()
        signposts.sort { ($0.segment, $0.isClosed ? 0 : 1) < ($1.segment, $1.isClosed ? 0 : 1) }
    }

    /// The highest number of a file that exists or that a signpost names; 0 if there is none.
    var last: UInt64 { max(lastThere, signposts.last?.segment ?? 0) }

    /// The file with the highest number, if so few follow that a journal after it could not go on.
    var nameWithoutNext: String? {
        guard last > JournalLimits.fileNumberMax / 2 else { return nil }
        if let signpost = signposts.last, signpost.segment == last { return signpost.name }
        return segments.last == last ? Self.segment(last) : Self.snapshot(last)
    }

    var lastThere: UInt64 { max(segments.last ?? 0, snapshots.last ?? 0) }

    static func segment(_ number: UInt64) -> String { name(segmentStart, number) }
    static func snapshot(_ number: UInt64) -> String { name(snapshotStart, number) }
    static func isSnapshot(_ name: String) -> Bool { name.hasPrefix(snapshotStart) }
    /// The file of the next segment before it has a number.
    static let next = unfinished("next" + end)
    static func unfinished(_ name: String) -> String { name + unfinishedEnd }
    /// Keeps the unusable rest of a segment, from `offset` on.
    static func torn(_ segment: UInt64, at offset: Int) -> String {
        "\(tornStart)\(padded(segment))-\(offset)\(end)"
    }

    /// An empty file that shows whether the folder is what a broker left, or a copy. The broker that made it
    /// began with this segment.
    static func mark(_ segment: UInt64) -> String { markStart + padded(segment) }

    static func signpost(_ signpost: Signpost) -> String {
        let name = (signpost.isClosed ? closedStart : newestStart) + padded(signpost.segment)
        guard let boot = signpost.boot else { return name }
        return "\(name)-\(String(boot, radix: 16))"
    }

    private static func signpost(_ name: String) -> Signpost? {
        let parts = name.split(separator: "-")
        guard parts.count > 1, let number = UInt64(parts[1]), isPossible(number) else { return nil }
        let boot = parts.count > 2 ? UInt32(parts[2], radix: 16) : nil
        let signpost = Signpost(segment: number, isClosed: name.hasPrefix(closedStart), boot: boot)
        return signpost.name == name ? signpost : nil
    }

    /// An empty file. A broker creates it when its disk has failed.
    static let failed = "failed"

    private static let segmentStart = "segment-"
    private static let snapshotStart = "snapshot-"
    private static let tornStart = "torn-"
    private static let newestStart = "newest-"
    private static let closedStart = "closed-"
    private static let markStart = "mark-"
    private static let end = ".jsonl"
    private static let unfinishedEnd = ".unfinished"
    private static let digits = 10

    private static func name(_ start: String, _ number: UInt64) -> String {
        start + padded(number) + end
    }

    /// Padded with zeros, so that a listing shows files in the order of their numbers.
    private static func padded(_ number: UInt64) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    /// The number in a name; nil if this program would spell the name differently.
    private static func number(_ name: String, _ start: String) -> UInt64? {
        let number = UInt64(name.dropFirst(start.count).dropLast(end.count))
        return number.flatMap { isPossible($0) && self.name(start, $0) == name ? $0 : nil }
    }

    private static func isPossible(_ number: UInt64) -> Bool {
        number > 0 && number <= JournalLimits.fileNumberMax
    }
}
