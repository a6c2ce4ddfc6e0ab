// A snapshot that the loop writes in memory when a segment ends, if the state is small. So nobody has to
// read the segments. It has exactly the values at the end of that segment.

import PlugboardWire

/// All lines of a snapshot.
public struct SnapshotText: Sendable {
    let keys: Int
    let bytes: [UInt8]

    /// What ends a snapshot.
    static func end(_ revision: UInt64) -> String { #"{"event":"synced","revision":\#(revision)"# }

    private struct TooLong: Error {}

    /// Writes a state of as many values as the header says. `body` must add each of them once. `when` is the time of the
    /// last record before. Nil if the state is too large.
    init?(_ header: FileHeader, when: UInt64, _ body: ((borrowing Commit) throws -> Void) throws -> Void) {
        guard let keys = header.keys, keys <= JournalLimits.stateKeysMax else { return nil }
        var lines = RecordBuffer(clock: { when })
        lines.begin(after: 0)
        lines.beginFile(header.text)
        do {
            try body { commit in
                guard lines.count < JournalLimits.stateBytesMax else { throw TooLong() }
                lines.append(commit)
            }
        } catch {
            return nil
        }
        guard lines.commits == UInt64(keys), lines.count < JournalLimits.stateBytesMax else { return nil }
        lines.append(own: Self.end(header.revision))
        self.keys = keys
        bytes = Array(lines.bytes)
    }
}
