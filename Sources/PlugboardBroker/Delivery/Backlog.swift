// What a subscription is owed and why it has to wait. A reader that is slow, one that is
// paused and one that is throttled are the same: they are owed the newest value of each
// key, and get it when nothing stands in the way. Most subscriptions never have one.

import PlugboardWire

/// The waiting side of one subscription. Owned by it.
final class Backlog {
    /// What is told next.
    enum Front {
        case nothing
        /// Nothing comes before `synced` any more.
        case synced
        /// An event of the journal, as soon as it was read.
        case replayed
        case key(OwedKeys.Place)
        /// A line, or the gap behind the last of them.
        case line
    }

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

    /// Keys and lines that it is owed, as far as they are known.
    var owedCount: Int { keys.count + lines.count + (replay?.readyCount ?? 0) }

    /// It may go on. `isPlain`: the newest value of each key is told, and as it is.
    func beginReady(isPlain: Bool) {
        isReady = true
        isRenewed = isPlain
    }

    /// It is done, or must wait.
    func endReady() {
        isReady = false
        isRenewed = false
    }

    /// It must last, whether anything is owed or not.
    var isNeeded: Bool { !isEmpty || awaitsReply || isPaused || window != nil }

    /// Of a key and a line the one whose event came first is told first: one revision may have
    /// several of both, as a batch has.
    var front: Front {
        if replay != nil { return .replayed }
        if owesSynced, awaitedCount == 0, !awaitsGap { return .synced }
        if let owed = keys.front, keys[owed].event <= lines.frontEvent ?? .max { return .key(owed) }
        return lines.isEmpty ? .nothing : .line
    }

    /// It was not answered, it was paused, it is still read what comes next, or the key of that was
    /// told lately.
    var isBlocked: Bool {
        if awaitsReply || isPaused && steps == 0 { return true }
        switch front {
        case .nothing, .synced: return false
        case .replayed: return replay?.readyCount == 0
        case .key(let owed):
            return window?.holds(keys[owed].keyHash, event: keys[owed].event) ?? false
        case .line:
            guard let header = lines.frontHeader else { return false }
            return window?.holds(header.keyHash, event: header.event) ?? false
        }
    }

    /// What comes next waits for the gate of this observable, if that is closed.
    var frontObservable: ObservableHandle? {
        switch front {
        case .nothing, .synced, .replayed: nil
        case .key(let owed): keys[owed].isGated ? keys[owed].observable : nil
        case .line: lines.frontHeader?.observable
        }
    }

    /// The revision of what comes next.
    var frontRevision: UInt64? {
        switch front {
        case .nothing: nil
        case .synced: lastRevision
        case .replayed: replay?.frontRevision
        case .key(let owed): keys[owed].revision
        case .line: lines.frontRevision
        }
    }
}

extension Backlog {
    private static var always: Invariants { Invariants(of: "Backlog") }

    /// What it counts is what it has. Counts in `owedBy` whom each key is owed to.
    func checkInvariants(
        _ living: borrowing Living,
        _ keyspace: borrowing Keyspace,
        _ owedBy: inout [ObservableHandle: Int]
    ) throws(BrokenInvariant) {
        try keys.checkInvariants(living, keyspace, &owedBy)
        try lines.checkInvariants()
        try replay?.gathered.checkInvariants(living, keyspace, &owedBy)
        var awaited = 0
        keys.forEach { if $0.isAwaited { awaited += 1 } }
        try Self.always.agree("what comes before synced is counted", awaitedCount, awaited)
        try Self.always.hold("a gap that is awaited is there", !awaitsGap || lines.hasGap)
        try Self.always.hold("only what is ready is renewed in passing", !isRenewed || isReady)
        try Self.always.hold("only what is paused is stepped", steps == 0 || isPaused)
    }

    /// Bytes that it keeps of lines.
    var lineBytes: Int {
        var written = 0
        keys.forEach { written += $0.writtenCost }
        return lines.byteCount + written
    }
}
