// How the writer asks for snapshots, and for segments that clients read to catch up. The worker does both
// on other threads. A segment stays while a client reads it, within limits.

import PlugboardWire

extension JournalWriter {
    /// Whether the last `flush` ended a segment. Then call `compact` before the state changes.
    public var hasEndedSegment: Bool { segmentBefore != nil }

    /// Asks for a snapshot if it is time for one. `keys` is the number of keys with a value. If the state
    /// is small, `body` must pass each value once, and the snapshot has these. Otherwise the worker reads
    /// the files.
    public func compact(keys: Int, live: Int?, _ body: ((borrowing Commit) throws -> Void) throws -> Void) {
        guard let (end, when) = segmentBefore else { return }
        segmentBefore = nil
        guard isCompactionWorthwhile(live) else { return }
        var header = end
        header.keys = keys
        beginCompaction(LogOutput.text(header, when: when, body), live)
    }

    func compactIfWorthwhile(_ live: Int?) {
        if loose.segments > 0, isCompactionWorthwhile(live) { beginCompaction(nil, live) }
    }

    private func isCompactionWorthwhile(_ live: Int?) -> Bool {
        if isCompacting { return false }
        let isMuch = loose.bytes > options.looseBytesMax(snapshotBytes: snapshotBytes, leeway: leeway)
        return isMuch || loose.segments > JournalLimits.looseSegmentsMax || holdsTooMuch(live)
            || isShort(live)
    }

    func beginCompaction(_ state: [UInt8]?, _ live: Int?, historyBytes: Int? = nil) {
        isCompacting = true
        liveThen.next = live ?? snapshotBytes
        snapshotBegan = time.nanoseconds()
        let historyBytes = historyBytes ?? index.bytesToKeep(upTo: segment - 1, history)
        worker.add(
            .compact(CompactionRequest(segment: segment - 1, historyBytes: historyBytes, state: state)))
        index.forget(upTo: segment - 1, historyBytes: historyBytes)
    }

    /// Closes ended segments that a snapshot on disk replaces. They need no sync any more, and the system
    /// may drop their unwritten bytes.
    func letGo(upTo last: UInt64) {
        unsent.removeAll { $0.segment <= last }
        let gone = ended.filter { $0.segment <= last }
        guard !gone.isEmpty else { return }
        ended.removeAll { $0.segment <= last }
        roomWork.isClosing = true
        worker.add(.close(gone.compactMap { if case .file(let file, _) = $0.request { file } else { nil } }))
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
