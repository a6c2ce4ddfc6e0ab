// What a subscription is owed and why it has to wait. A reader that is slow, one that is
// paused and one that is throttled are the same: they are owed the newest value of each
// key, and get it when nothing stands in the way. Most subscriptions never have one.

import PlugboardWire

typealias BacklogReference = UnsafeMutablePointer<Backlog>

/// The waiting side of one subscription. Owned by it.
struct Backlog: ~Copyable {
    var keys = OwedKeys()
    var lines = LineQueue()
    /// Keys of the snapshot, or missed ones, that are still owed.
    var awaitedCount = 0
    /// Some of those are in the gap of `lines`, and read again from the journal.
    var awaitsGap = false
    /// `synced` is to follow when none of those is owed any more.
    var owesSynced = false
    /// The revision of the last line that was sent, or of the beginning, for `synced`.
    var lastRevision: UInt64 = 0
    /// Its `subscribe` is answered later, and nothing may be told ahead of that.
    var awaitsReply = false
    /// Held until `resume`.
    var isPaused = false
    /// Lines that may pass although it is paused.
    var steps = 0
    /// The rhythm of a subscription with `every`.
    var window: Window?
    /// What is told first, from the journal.
    var replay: Replay?
    /// In its session's list of those that can go on.
    private(set) var isReady = false
    /// Ready, and of an update to a key that is owed already only the revision has to be noted.
    private(set) var isRenewed = false

    init() {}

    var isEmpty: Bool { keys.isEmpty && lines.isEmpty && !owesSynced && replay == nil }

    /// It may go on. `isPlain`: the newest value of each key is told, and as it is.
    mutating func beginReady(isPlain: Bool) {
        isReady = true
        isRenewed = isPlain
    }

    /// It is done, or must wait.
    mutating func endReady() {
        isReady = false
        isRenewed = false
    }

    /// Nothing comes before `synced` any more.
    var isComplete: Bool { awaitedCount == 0 && !awaitsGap && replay == nil }

    /// It must last, whether anything is owed or not.
    var isNeeded: Bool { !isEmpty || awaitsReply || isPaused || window != nil }

    /// It was not answered, it was paused, or its window has not ended yet.
    var isBlocked: Bool {
        if awaitsReply || isPaused && steps == 0 { return true }
        if let replay, replay.readyCount == 0 { return true }
        guard let window, window.isTicking else { return false }
        if let replay { return !window.lets(revision: replay.frontRevision) }
        if let owed = keys.front, owed.pointee.revision <= lines.frontRevision ?? .max {
            return !window.lets(revision: owed.pointee.revision)
        }
        return lines.frontEvent.map { !window.lets(event: $0) } ?? false
    }

    /// What comes next waits for the gate of this observable, if that is closed.
    var frontObservable: ObservableReference? {
        if replay != nil { return nil }
        if let owed = keys.front, owed.pointee.revision <= lines.frontRevision ?? .max {
            return owed.pointee.isGated ? owed.pointee.observable : nil
        }
        return lines.frontObservable
    }

    /// The revision of what comes next.
    var frontRevision: UInt64? {
        if let replay { return replay.frontRevision }
        return switch (keys.front?.pointee.revision, lines.frontRevision) {
        case (let key?, let line?): min(key, line)
        case (let key, let line): key ?? line ?? (owesSynced ? lastRevision : nil)
        }
    }
}
