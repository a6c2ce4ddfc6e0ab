// Keeps the journal within its promised size while a snapshot is made on another thread. The faster the
// journal grows meanwhile, the longer the loop rests, so that the snapshot can finish. If the journal may
// not grow at all, the loop waits for the snapshot.

/// Work on other threads that will free room.
struct RoomWork {
    /// The number of requests to remove segments that aren't done yet.
    var trims = 0
    /// The unused room of ended segments that will be freed, in the order of the segments.
    var unreleased: [Int] = []
    /// Whether there are removed files that keep their room until they are closed.
    var isClosing = false
    var progress: CompactionProgress?
    /// The bytes of all segments when the snapshot began, and their growth when it was last checked.
    var begun = 0
    var paced = 0
}

extension JournalWriter {
    /// The bytes that everything takes up, with reserved room and the snapshot that is being made.
    var taken: Int {
        let next = if case .none = nextFile { 0 } else { preparedBytes + JournalLimits.preparedRoomBytes }
        let rest = max(bytes, roomEnd ?? bytes) + roomWork.unreleased.reduce(next, +)
        return snapshotBytes + heldBytes + rest + (isCompacting ? liveThen.next : 0)
    }

    /// The bytes that the journal may take up, without the largest record.
    func promised(_ live: Int) -> Int {
        let most = isCompacting ? max(live, liveThen.last, liveThen.next) : live
        let history = index.bytesToKeep(upTo: segment - 1, options.historyBytes)
        return 3 * most + history + JournalLimits.promisedBytes - JournalLimits.roundingBytes
    }

    /// Whether work is under way that will free room.
    var isRoomComing: Bool { isCompacting || roomWork.trims > 0 || !roomWork.unreleased.isEmpty }

    /// Waits for room to be freed if `more` bytes would break the promise.
    func keepPromise(_ more: Int, _ live: Int?) {
        guard let live, isRoomComing, taken + more > promised(live) else { return }
        awaitRoom()
    }

    /// Rests if the journal has grown more than the snapshot's progress allows. It rests longer if more
    /// was written since the last call. As long as it has grown only a little more than that, it doesn't rest
    /// long in any turn, because clients wait: the snapshot may only be waiting for the disk. A small snapshot
    /// is finished soon anyway.
    func pace() {
        guard isCompacting, liveThen.next > JournalLimits.awaitedStateBytesMax,
            let progress = roomWork.progress
        else { return }
        let grown = heldBytes + bytes - roomWork.begun
        var rests = (grown - roomWork.paced) / JournalLimits.bytesPerRest
        guard rests > 0 else { return }
        roomWork.paced = grown
        let share = liveThen.next / JournalLimits.pacedPart
        if excess(of: grown, progress, share) < JournalLimits.slightExcessBytes {
            rests = min(rests, JournalLimits.restsMax)
        }
        while rests > 0, !progress.isOver, excess(of: grown, progress, share) > 0 {
            worker.rest()
            rests -= 1
        }
    }

    private func excess(of grown: Int, _ progress: CompactionProgress, _ share: Int) -> Int {
        grown - JournalLimits.unpacedBytes - progress.part(of: share)
    }

    /// Returns when all work that frees room is done.
    func awaitRoom(isClosing: Bool = false) {
        worker.finishCompaction()
        takeRoomWork()
        guard isClosing, roomWork.isClosing else { return }
        roomWork.isClosing = false
        worker.letGo()
    }

    private func takeRoomWork() {
        for work in worker.takeDone() {
            switch work {
            case .compacted, .compactionFailed, .trimmed, .released: take(work)
            default: setAside.append(work)
            }
        }
    }
}
