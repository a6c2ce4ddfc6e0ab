// A snapshot that the loop writes in memory when a segment ends, if the state is small. So nobody has to
// read the segments. It has exactly the values at the end of that segment.

import PlugboardWire

/// All lines of a snapshot.
public struct SnapshotText: Sendable {
    let keys: Int
    let bytes: [UInt8]

    /// The end of the segment that the snapshot replaces.
    struct End {
        let segment: UInt64
        let epoch: String
        let boot: String
        /// The last revision, checksum and time of the segment.
        let revision: UInt64
        let chain: UInt32
        let when: UInt64
    }

    private struct TooLong: Error {}

    /// Writes a state. `body` must add each of the `keys` values once. Nil if the state is too large.
    init?(of end: End, keys: Int, _ body: ((borrowing Commit) throws -> Void) throws -> Void) {
        guard keys <= JournalLimits.stateKeysMax else { return nil }
        let when = end.when
        var lines = RecordBuffer(clock: { when })
        lines.begin(after: 0)
        lines.beginFile(
            FileHeader.text(
                .snapshot,
                end.segment,
                epoch: end.epoch,
                boot: end.boot,
                revision: end.revision,
                previous: end.chain,
                keys: keys
            )
        )
        do {
            try body { commit in
                guard lines.count < JournalLimits.stateBytesMax else { throw TooLong() }
                lines.append(commit)
            }
        } catch {
            return nil
        }
        guard lines.commits == UInt64(keys), lines.count < JournalLimits.stateBytesMax else { return nil }
        lines.append(own: #"{"event":"synced","revision":\#(end.revision)"#)
        self.keys = keys
        bytes = Array(lines.bytes)
    }
}
