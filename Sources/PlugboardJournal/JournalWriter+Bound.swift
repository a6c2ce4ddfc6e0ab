// What the journal takes up stays within what is promised also while a snapshot is made beside the
// loop: the faster it grows meanwhile, the longer the loop rests, so that the snapshot is soon there;
// and where no more may be taken up, it waits for it.

/// What is under way beside the loop that will give room back.
struct RoomWork {
    /// Trims that are not done yet.
    var trims = 0
    /// Room behind segments that have ended, which is yet to be given back, in their order.
    var unreleased: [Int] = []
    /// Removed files keep their room until they are let go of.
    var isClosing = false
    /// How far the snapshot is.
    var progress: CompactionProgress?
    /// Bytes of segments when it was begun, and how far they have grown since when that was last looked at.
    var begun = 0
    var paced = 0
}

extension JournalWriter {
    /// Bytes that everything takes up: reserved room, and the snapshot that is being made, included.
    var taken: Int {
        let next = if case .none = nextFile { 0 } else { preparedBytes + JournalLimits.preparedRoomBytes }
        let rest = max(bytes, roomEnd ?? bytes) + roomWork.unreleased.reduce(next, +)
        return snapshotBytes + heldBytes + rest + (isCompacting ? liveThen.next : 0)
    }

    /// Bytes that may be taken up, the largest record aside.
    func promised(_ live: Int) -> Int {
        let most = isCompacting ? max(live, liveThen.last, liveThen.next) : live
        let history = index.bytesToKeep(upTo: segment - 1, options.historyBytes)
        return 3 * most + history + JournalLimits.promisedBytes - JournalLimits.roundingBytes
    }

    /// Something will give room back when it is done.
    var isRoomComing: Bool { isCompacting || roomWork.trims > 0 || !roomWork.unreleased.isEmpty }

    /// Waits until room has been given back, if `more` bytes would be more than is promised.
    func keepPromise(_ more: Int, _ live: Int?) {
        guard let live, isRoomComing, taken + more > promised(live) else { return }
        awaitRoom()
    }

    /// Rests as long as the snapshot has not come as far as the journal has grown since it was begun,
    /// longer the more was written: so nobody waits long at once. A small one is soon there anyway.
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

    /// Returns when all the room that was to be given back has been.
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
