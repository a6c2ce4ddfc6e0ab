// What lies in a journal's folder, by its names: numbered segments, and snapshots that
// stand for all segments up to their own number.

/// The files of one journal, and what they are called.
struct JournalFiles {
    /// The numbers of the segments, ascending.
    private(set) var segments: [UInt64] = []
    /// The numbers of the snapshots, ascending.
    private(set) var snapshots: [UInt64] = []
    /// What was being written when it was left.
    private(set) var unfinished: [String] = []
    /// What crashes left of last lines, by age.
    private(set) var torn: [String] = []
    /// Signs of which segment is the newest, the one that counts last: a restored copy of
    /// the folder may bring others along.
    private(set) var signposts: [Signpost] = []
    /// A broker could not bring to disk what it had written.
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
            } else if name == Self.failed {
                hasFailed = true
            }
        }
        segments.sort()
        snapshots.sort()
        torn.sort()
        signposts.sort { ($0.segment, $0.isClosed ? 0 : 1) < ($1.segment, $1.isClosed ? 0 : 1) }
    }

    /// The last number that a file has, or is said to have had; 0 for none.
    var last: UInt64 { max(lastThere, signposts.last?.segment ?? 0) }

    private var lastThere: UInt64 { max(segments.last ?? 0, snapshots.last ?? 0) }

    /// Throws `JournalError.missing` where the newest segment is said to have been, and nothing that
    /// stands for it is there.
    func checkNewest() throws {
        if last > lastThere { throw JournalError.missing(file: Self.segment(last)) }
    }

    /// Throws `JournalError.damaged` where a file has a number that none is given.
    func checkNumbers() throws {
        let names = [
            segments.last.map { ($0, Self.segment($0)) }, snapshots.last.map { ($0, Self.snapshot($0)) },
            signposts.last.map { ($0.segment, $0.name) },
        ]
        let tooHigh = names.lazy.compactMap { $0 }.first { $0.0 > JournalLimits.fileNumberMax }
        guard let name = tooHigh?.1 else { return }
        throw JournalError.damaged(
            JournalPlace(file: name, offset: 0, line: 1),
            "no journal has so many files"
        )
    }

    static func segment(_ number: UInt64) -> String { name(segmentStart, number) }
    static func snapshot(_ number: UInt64) -> String { name(snapshotStart, number) }
    /// What the next segment will be written to.
    static let next = unfinished("next" + end)
    static func unfinished(_ name: String) -> String { name + unfinishedEnd }
    /// Where the rest of a segment is kept from `offset` on, which couldn't be used.
    static func torn(_ segment: UInt64, at offset: Int) -> String {
        "\(tornStart)\(padded(segment))-\(offset)\(end)"
    }

    static func signpost(_ signpost: Signpost) -> String {
        let name = (signpost.isClosed ? closedStart : newestStart) + padded(signpost.segment)
        guard let boot = signpost.boot else { return name }
        return "\(name)-\(String(boot, radix: 16))"
    }

    private static func signpost(_ name: String) -> Signpost? {
        for (start, isClosed) in [(newestStart, false), (closedStart, true)] {
            guard name.hasPrefix(start) else { continue }
            let parts = name.dropFirst(start.count).split(separator: "-", omittingEmptySubsequences: false)
            guard let number = parts.first.flatMap({ UInt64($0) }), parts.count <= 2 else { continue }
            let boot = parts.count > 1 ? UInt32(parts[1], radix: 16) : nil
            let signpost = Signpost(segment: number, isClosed: isClosed, boot: boot)
            return number > 0 && signpost.name == name ? signpost : nil
        }
        return nil
    }

    /// An empty file that a broker leaves whose disk has failed.
    static let failed = "failed"

    private static let segmentStart = "segment-"
    private static let snapshotStart = "snapshot-"
    private static let tornStart = "torn-"
    private static let newestStart = "newest-"
    private static let closedStart = "closed-"
    private static let end = ".jsonl"
    private static let unfinishedEnd = ".unfinished"
    private static let digits = 10

    private static func name(_ start: String, _ number: UInt64) -> String {
        start + padded(number) + end
    }

    /// Padded, so that a listing shows them in their order.
    private static func padded(_ number: UInt64) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    /// The number in a name; nil where it isn't exactly what this program would call it.
    private static func number(_ name: String, _ start: String) -> UInt64? {
        guard name.hasPrefix(start), name.hasSuffix(end) else { return nil }
        let digits = name.dropFirst(start.count).dropLast(end.count)
        guard let number = UInt64(digits), number > 0, self.name(start, number) == name else { return nil }
        return number
    }
}
