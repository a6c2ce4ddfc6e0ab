// How the writer asks for snapshots, and for segments that clients read to catch up. The worker does both
// on other threads. A segment stays while a client reads it, within limits.

import PlugboardWire

extension JournalWriter {
    /// Whether the last `flush` ended a segment. Then call `beginSnapshot` before the state changes.
    public var hasEndedSegment: Bool { segmentBefore != nil }

    /// Begins a snapshot of the state, if it is time for one. `keys` is the number of keys with a value: add each of
    /// them as it is now, in whatever order, and call `end`. Returns nil if there is nothing to add.
    public func beginSnapshot(keys: Int, live: Int) -> StateSnapshot? {
        guard let (end, when) = segmentBefore else { return nil }
        segmentBefore = nil
        guard isCompactionWorthwhile(live) else { return nil }
        // On a small disk, who writes may have to wait for the snapshot. Then the worker reads the files, unless the
        // state is small.
        let isSmall = keys <= JournalLimits.stateKeysMax && live <= JournalLimits.stateBytesMax
        guard leeway > 0 || isSmall else {
            beginCompaction(live)
            return nil
        }
        var header = end
        header.keys = keys
        let name = JournalFiles.unfinished(JournalFiles.snapshot(header.segment))
        guard let file = try? store.createAnew(name) else {
            beginCompaction(live)
            return nil
        }
        noteCompaction(live)
        let (worker, unfinished) = (worker, SnapshotFile(file))
        return StateSnapshot(header, unfinished, when: when) { worker.add(.write(unfinished, $0)) }
    }

    /// Whether all values have to be added at once, because clients may have to wait for the snapshot.
    public var needsSnapshotAtOnce: Bool { leeway == 0 }

    /// All values were added. If it isn't as many as its first line says, the snapshot is made of the files.
    public func end(_ snapshot: consuming StateSnapshot) {
        snapshot.end()
        worker.add(.compact(upTo: snapshot.segment, snapshot.isWhole ? snapshot.file : nil))
    }

    /// Gives up a snapshot to which not all values were added.
    public func abandon(_ snapshot: consuming StateSnapshot) {
        try? store.remove(JournalFiles.unfinished(JournalFiles.snapshot(snapshot.segment)))
        compacting = nil
    }

    func compactIfWorthwhile(_ live: Int) {
        if index.looseSegments > 0, isCompactionWorthwhile(live) { beginCompaction(live) }
    }

    /// Asks the worker for a snapshot, which it makes from the files.
    func beginCompaction(_ live: Int) {
        noteCompaction(live)
        worker.add(.compact(upTo: segment - 1, nil))
    }

    private func noteCompaction(_ live: Int) {
        compacting = (segment - 1, live)
        snapshotBegan = time.nanoseconds()
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
