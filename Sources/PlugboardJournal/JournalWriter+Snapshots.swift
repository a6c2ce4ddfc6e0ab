// How the writer asks for snapshots, and for segments that clients read to catch up. The worker does both
// on other threads. A segment stays while a client reads it, within limits.

import PlugboardWire

extension JournalWriter {
    /// Whether a segment has just ended. Then call `beginSnapshot` before the state changes.
    public var hasEndedSegment: Bool { segmentBefore != nil }

    /// Begins a snapshot of the state, if it is time for one. `keys` is the number of keys with a value: add each of
    /// them as it is now, in whatever order, and call `end`. Returns nil if there is nothing to add.
    public func beginSnapshot(keys: Int, live: Int) -> StateSnapshot? {
        guard let (end, when) = segmentBefore else { return nil }
        segmentBefore = nil
        let isWanted = isSnapshotWanted
        isSnapshotWanted = false
        guard isWanted ? mayCompact : isCompactionWorthwhile(live) else { return nil }
        if isWanted || isOverdue(live) { leeway = 0 }
        compacting = (end.segment, live)
        snapshotBegan = time.nanoseconds()
        var header = end
        header.keys = keys
        do {
            let file = try store.createAnew(JournalFiles.unfinished(JournalFiles.snapshot(end.segment)))
            let (worker, unfinished) = (worker, SnapshotFile(file))
            return StateSnapshot(header, unfinished, when: when) { worker.add(.write(unfinished, $0)) }
        } catch {
            failCompaction("\(error)")
            return nil
        }
    }

    /// Whether all values have to be added at once, because somebody may have to wait for the snapshot.
    public var needsSnapshotAtOnce: Bool { leeway == 0 }

    /// All values were added.
    public func end(_ snapshot: consuming StateSnapshot) {
        guard snapshot.isWhole else {
            abandon(snapshot)
            return failCompaction("there aren't as many values as it says")
        }
        snapshot.end()
        worker.add(.compact(upTo: snapshot.segment, snapshot.file))
    }

    /// Gives up a snapshot to which not all values were added.
    public func abandon(_ snapshot: consuming StateSnapshot) {
        try? store.remove(JournalFiles.unfinished(JournalFiles.snapshot(snapshot.segment)))
        compacting = nil
    }

    // MARK: Reading again

    /// The place from which everything after `revision` can be read; nil if some of it is gone. The
    /// segments stay until `endReading`, within limits.
    public func beginReading(after revision: UInt64) -> ReadPlace? {
        guard let number = index.segment(after: revision) else { return nil }
        index.pin(number)
        return ReadPlace(segment: number)
    }

    /// Ends a reading at `place`, or moves it to `next`.
    public func endReading(at place: ReadPlace, goingOnAt next: ReadPlace? = nil) {
        if let next { index.pin(next.segment) }
        index.unpin(place.segment)
    }

    /// Reads on without holding up the loop. Everything up to `request.upTo` must be flushed.
    public func read(_ request: ReadRequest) {
        var request = request
        request.last = segment
        worker.add(.read(request))
    }
}
