// Keeps the journal's size within the promise while a snapshot is made beside the loop. The
// faster the journal grows meanwhile, the longer the loop rests, so that the snapshot is
// finished soon. If the journal may not grow any more, the loop waits for it.

/// Work beside the loop that will give room back.
struct RoomWork {
    /// The number of trims that aren't done yet.
    var trims = 0
    /// Room after ended segments that will be given back, in the order of the segments.
    var unreleased: [Int] = []
    /// There are removed files that keep their room until they are closed.
    var isClosing = false
    /// The progress of the snapshot.
    var progress: CompactionProgress?
    /// The bytes of segments when it began, and how much they had grown when that was last
    /// checked.
    var begun = 0
    var paced = 0
}

extension JournalWriter {
    /// Bytes that everything takes up, including reserved room and the snapshot that is being
    /// made.
    var taken: Int {
        let next = if case .none = nextFile { 0 } else { preparedBytes + JournalLimits.preparedRoomBytes }
        let rest = max(bytes, roomEnd ?? bytes) + roomWork.unreleased.reduce(next, +)
        return snapshotBytes + heldBytes + rest + (isCompacting ? liveThen.next : 0)
    }

    /// Bytes that the journal may take up, without the largest record.
    func promised(_ live: Int) -> Int {
        let most = isCompacting ? max(live, liveThen.last, liveThen.next) : live
        let history = index.bytesToKeep(upTo: segment - 1, options.historyBytes)
        return 3 * most + history + JournalLimits.promisedBytes - JournalLimits.roundingBytes
    }

    /// Something under way will give room back.
    var isRoomComing: Bool { isCompacting || roomWork.trims > 0 || !roomWork.unreleased.isEmpty }

    /// Waits for room to be given back, if `more` bytes would break the promise.
    func keepPromise(_ more: Int, _ live: Int?) {
        guard let live, isRoomComing, taken + more > promised(live) else { return }
        awaitRoom()
    }

    /// Rests while the snapshot has made less progress than the journal has grown since it began;
    /// longer if more was written, so that nobody waits long at once. A small snapshot is finished
    /// soon anyway.
    func pace() {
        guard isCompacting, liveThen.next > JournalLimits.awaitedStateBytesMax,
            let progress = roomWork.progress
        else { return }
        let grown = heldBytes + bytes - roomWork.begun
        var rests = (grown - roomWork.paced) / JournalLimits.bytesPerRest
        guard rests > 0 else { return }
        roomWork.paced = grown
        let share = liveThen.next / JournalLimits.pacedPart
        while rests > 0, !progress.isOver, grown > JournalLimits.unpacedBytes + progress.part(of: share) {
            worker.rest()
            rests -= 1
        }
    }

    /// Returns when all room that was to be given back has been.
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
