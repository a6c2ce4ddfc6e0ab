// How far the disk is behind what was written, and how fast clients may write meanwhile. The writer owns it. Usually
// a sync brings everything to disk, once a second. Only when very much waits, it is sent there before, too: then it
// shows how much the disk takes.

/// Bytes on their way to the disk. All counts begin with the broker.
struct DiskLag {
    /// What was written to files.
    private(set) var written = 0
    /// What was synced, and what is being synced.
    private var synced = 0
    private var syncing = 0
    /// What the disk has of the bytes after `synced`; and of those before `syncing`.
    private var sent = (all: 0, beforeSyncing: 0)
    /// What the disk took in the present second, in the last one, and in the one before.
    private var taken = (present: 0, last: 0, before: 0)
    private var second: UInt64 = 0
    /// So much may always wait.
    private let least: Int
    private var isBehind = false

    init(least: Int) {
        self.least = least
    }

    /// What the disk has yet to take.
    var waiting: Int { written - synced - sent.all }

    /// As much may wait as the disk took in its last two seconds.
    var waitingMax: Int {
        max(least, taken.last + max(taken.before, taken.present))
    }

    /// Whether it doesn't wait for the next sync.
    var isSentAtOnce: Bool { waiting > waitingMax / 4 * 3 }

    /// How many bytes a second all clients together should write, so that the disk catches up; nil if it isn't behind.
    /// It is less than the disk takes, and the less, the more there is to catch up with.
    mutating func pressure() -> Int? {
        let most = Double(waitingMax)
        let excess = (Double(waiting) - most) / most
        isBehind = excess > (isBehind ? -JournalLimits.reliefPart : 0)
        return isBehind ? Int(most / 2 * max(0.05, 0.9 - 1.6 * max(0, excess))) : nil
    }

    mutating func noteWritten(_ bytes: Int) { written += bytes }

    mutating func noteSyncBegan() {
        syncing = written
        sent.beforeSyncing = sent.all
    }

    mutating func noteSynced(at nanoseconds: UInt64) {
        pass(to: nanoseconds)
        taken.present += syncing - synced - sent.beforeSyncing
        synced = syncing
        sent = (sent.all - sent.beforeSyncing, 0)
    }

    /// Notes that the disk has these bytes, which end at `end` of everything that was written.
    mutating func noteSent(_ bytes: Int, upTo end: Int, at nanoseconds: UInt64) {
        pass(to: nanoseconds)
        guard end > synced else { return }
        taken.present += bytes
        sent.all += bytes
        if end <= syncing { sent.beforeSyncing += bytes }
    }

    /// Lets the seconds pass that have passed.
    mutating func pass(to nanoseconds: UInt64) {
        let now = nanoseconds / 1_000_000_000
        switch now - min(now, second) {
        case 0: return
        case 1: taken = (0, taken.present, taken.last)
        case 2: taken = (0, 0, taken.present)
        default: taken = (0, 0, 0)
        }
        second = now
    }
}

extension JournalWriter {
    /// Whether it is counted how far the disk is behind: where a sync waits for nobody.
    var countsLag: Bool { options.sync == .interval }

    /// Sends to the disk what was written since the last sync began or since the last time.
    func sendToDisk() {
        worker.add(.send((ended + [present]).filter { $0.unsentBytes > 0 }, upTo: lag.written))
        for place in ended.indices { ended[place].sentBytes = ended[place].bytes }
        sentBytes = bytes
    }

    /// Decides whether clients that write have to be slowed down: because the disk is behind, or a snapshot.
    func notePressure() {
        let (disk, snapshot) = (lag.pressure(), pressureOfSnapshot)
        pressure = disk == nil && snapshot == nil ? nil : min(disk ?? .max, snapshot ?? .max)
        if pressure != nil { wasSlowed = true }
    }

    /// Looks again while nobody writes.
    public func lookAtDisk() {
        lag.pass(to: time.nanoseconds())
        notePressure()
    }
}
