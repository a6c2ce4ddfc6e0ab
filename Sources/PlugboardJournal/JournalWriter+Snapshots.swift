// The writer's side of snapshots, and of who reads segments again.

import PlugboardWire

extension JournalWriter {
    /// The last `flush` has ended a segment: `compact` is to be called, before anything changes.
    public var hasEndedSegment: Bool { segmentBefore != nil }

    /// Asks for a snapshot, if it is time for one: of the present state of `keys` keys where that is
    /// little, for which `body` gives each value once; else of the files.
    public func compact(keys: Int, live: Int?, _ body: ((Commit) throws -> Void) throws -> Void) {
        guard let end = segmentBefore else { return }
        segmentBefore = nil
        if isCompactionWorthwhile(live) { beginCompaction(SnapshotText(of: end, keys: keys, body), live) }
    }

    func compactIfWorthwhile(_ live: Int?) {
        if loose.segments > 0, isCompactionWorthwhile(live) { beginCompaction(nil, live) }
    }

    private func isCompactionWorthwhile(_ live: Int?) -> Bool {
        if isCompacting { return false }
        let isMuch = loose.bytes > max(options.looseBytes, 2 * snapshotBytes)
        return isMuch || loose.segments > JournalLimits.looseSegmentsMax || holdsTooMuch(live)
            || isShort(live)
    }

    func beginCompaction(_ state: SnapshotText?, _ live: Int?, historyBytes: Int? = nil) {
        isCompacting = true
        liveThen.next = live ?? snapshotBytes
        let progress = CompactionProgress(total: snapshotBytes + loose.bytes + liveThen.next)
        (roomWork.progress, roomWork.begun, roomWork.paced) = (progress, heldBytes + bytes, 0)
        let historyBytes = historyBytes ?? index.bytesToKeep(upTo: segment - 1, history)
        var request = CompactionRequest(segment: segment - 1, historyBytes: historyBytes, state: state)
        request.progress = progress
        worker.compact(request)
        index.forget(upTo: segment - 1, historyBytes: historyBytes)
    }

    /// What a snapshot that is on disk has taken the place of needn't get there any more: so the
    /// system may forget it unwritten.
    func letGo(before segment: UInt64) {
        let gone = ended.filter { $0.segment < segment }
        guard !gone.isEmpty else { return }
        ended.removeAll { $0.segment < segment }
        roomWork.isClosing = true
        worker.close(gone.compactMap { if case .file(let file, _) = $0.request { file } else { nil } })
    }

    // MARK: Reading again

    /// Where everything lies that was written after a revision; nil where some of it is gone. It
    /// stays there until `endReading`, as far as limits allow.
    public func beginReading(after revision: UInt64) -> ReadPlace? {
        guard let number = index.segment(after: revision) else { return nil }
        index.pin(number)
        return ReadPlace(segment: number)
    }

    /// Goes on from one place to another, or nowhere.
    public func endReading(at place: ReadPlace, goingOnAt next: ReadPlace? = nil) {
        if let next { index.pin(next.segment) }
        index.unpin(place.segment)
    }

    /// Reads on beside the loop. All that it is to find has been flushed.
    public func read(_ request: ReadRequest) {
        var request = request
        request.last = segment
        if let worker = worker as? any ReadingWorker { return worker.read(request) }
        news.append(.read(SegmentReading.piece(request, store)))
    }
}
