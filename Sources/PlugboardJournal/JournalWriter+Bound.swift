// Keeps the journal within its promised size while a snapshot is made on another thread. If the journal grows
// faster than the snapshot gets on, clients that write are slowed down. If it may not grow at all, the loop waits
// for the snapshot.

/// Work on other threads that will free room.
struct RoomWork {
    /// The number of requests to remove segments that aren't done yet.
    var trims = 0
    /// The unused room of ended segments that will be freed.
    var unreleased = 0
    /// Whether there are removed files that keep their room until they are closed.
    var isClosing = false
    var progress: CompactionProgress?
    /// The bytes of all segments when the snapshot began.
    var begun = 0
}

extension JournalWriter {
    /// The bytes that everything takes up, with reserved room and the snapshot that is being made.
    var taken: Int {
        let next = if case .none = nextFile { 0 } else { preparedBytes }
        let rest = max(bytes, roomEnd ?? bytes) + roomWork.unreleased
        return snapshotBytes + heldBytes + next + rest + (isCompacting ? liveThen.next : 0)
    }

    /// The bytes that the journal may take up, without the largest record.
    func promised(_ live: Int) -> Int {
        let most = isCompacting ? max(live, liveThen.last, liveThen.next) : live
        let history = index.bytesToKeep(upTo: segment - 1, options.historyBytes)
        return 3 * most + history + JournalLimits.promisedBytes + leeway - JournalLimits.roundingBytes
    }

    /// Whether work is under way that will free room.
    var isRoomComing: Bool { isCompacting || roomWork.trims > 0 || roomWork.unreleased > 0 }

    /// Waits for room to be freed if `more` bytes would break the promise.
    func keepPromise(_ more: Int, _ live: Int?) {
        guard let live, isRoomComing, taken + more > promised(live) else { return }
        awaitRoom()
    }

    /// How much faster the journal grew than the snapshot got on that is being made, as a part of what it may
    /// grow meanwhile. A small snapshot is finished soon anyway.
    var excessBesideSnapshot: Double {
        guard isCompacting, liveThen.next > JournalLimits.awaitedStateBytesMax,
            let progress = roomWork.progress
        else { return -1 }
        let most = JournalLimits.unpacedBytes + leeway / JournalLimits.unpacedLeewayPart
        let allowed = progress.part(of: liveThen.next / JournalLimits.pacedPart)
        let grown = heldBytes + bytes - roomWork.begun - allowed
        return Double(grown - most) / Double(most)
    }

    /// Returns when all work that frees room is done.
    func awaitRoom(isClosing: Bool = false) {
        worker.wait(for: .rooms)
        takeRoomWork()
        guard isClosing, roomWork.isClosing else { return }
        roomWork.isClosing = false
        worker.wait(for: .rooms)
        worker.wait(for: .syncs)
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
