// How far the disk is behind what was written, and how fast clients may write meanwhile. The writer owns it. Usually
// a sync brings everything to disk, once a second. Only when much waits, it is sent there before, too: then it
// shows how much the disk takes.

/// Bytes on their way to the disk, in their order. All counts begin with the broker.
struct DiskLag {
    /// What was written to files.
    private(set) var written = 0
    /// What the disk has, what is being synced, and up to where the disk was asked for it, by a sync or before.
    private var taken = 0
    private var syncing = 0
    private var asked = 0
    private var rate = DiskRate()
    /// So much may always wait.
    private let least: Int

    init(least: Int) {
        self.least = least
    }

    /// What the disk has yet to take.
    var waiting: Int { written - taken }

    /// As much may wait as the disk takes in two seconds.
    var waitingMax: Int { max(least, 2 * rate.bytesPerSecond) }

    /// What the disk wasn't asked for yet.
    var unsent: Int { written - asked }

    /// Whether that doesn't wait for the next sync. It is sent long before clients are slowed down, so that it goes in
    /// small pieces. They show in time what the disk takes; during a large one it would seem to stand still.
    var isSentAtOnce: Bool { waiting > least / 4 }

    /// How many bytes a second all clients together should write, so that the disk catches up; nil if it isn't behind.
    /// It is less than the disk takes, and the less, the more there is to catch up with.
    var pressure: Int? {
        let most = Double(waitingMax)
        let excess = (Double(waiting) - most) / most
        return excess > 0 ? Int(most / 2 * max(0.05, 0.9 - 1.6 * excess)) : nil
    }

    mutating func noteWritten(_ bytes: Int) { written += bytes }

    mutating func noteSyncBegan() { (syncing, asked) = (written, written) }

    mutating func noteSynced() { taken = max(taken, syncing) }

    mutating func noteSendBegan(at nanoseconds: UInt64) {
        asked = written
        rate.begin(at: nanoseconds)
    }

    /// Notes that the disk has these bytes, which end at `end` of everything that was written.
    mutating func noteSent(_ bytes: Int, upTo end: Int, at nanoseconds: UInt64) {
        rate.end(bytes, at: nanoseconds)
        taken = max(taken, end)
    }

    mutating func pass(to nanoseconds: UInt64) { rate.pass(to: nanoseconds) }
}

/// How much the disk takes in a second, measured only while something is on its way there: what it takes otherwise
/// says how much was sent, not how much it could take. What was long ago counts ever less.
struct DiskRate {
    /// How many pieces are on their way.
    private var pieces = 0
    private var taken = (bytes: 0, nanoseconds: 0 as UInt64)
    private var last: UInt64 = 0

    private static let span: UInt64 = 1_000_000_000
    /// So much time counts from the beginning on.
    private static let spanMin: UInt64 = 250_000_000

    var bytesPerSecond: Int {
        Int(Double(taken.bytes) / Double(max(taken.nanoseconds, Self.spanMin)) * 1e9)
    }

    mutating func begin(at nanoseconds: UInt64) {
        pass(to: nanoseconds)
        pieces += 1
    }

    mutating func end(_ bytes: Int, at nanoseconds: UInt64) {
        pass(to: nanoseconds)
        taken.bytes += bytes
        pieces -= 1
    }

    mutating func pass(to nanoseconds: UInt64) {
        if taken.nanoseconds > Self.span { taken = (taken.bytes / 2, taken.nanoseconds / 2) }
        if pieces > 0 { taken.nanoseconds += nanoseconds - min(last, nanoseconds) }
        last = nanoseconds
    }
}

extension JournalWriter {
    /// Sends to the disk what was written since the last sync began or since the last time.
    func sendToDisk() {
        worker.add(.send(ended + [present], bytes: lag.unsent, upTo: lag.written))
        lag.noteSendBegan(at: time.nanoseconds())
    }

    /// Decides whether clients that write have to be slowed down: because the disk is behind, or a snapshot.
    func notePressure() {
        let (disk, room) = (lag.pressure, pressureOfRoom)
        pressure = disk == nil && room == nil ? nil : min(disk ?? .max, room ?? .max)
        if let pressure { leastPressure = min(leastPressure ?? .max, pressure) }
    }

    /// Looks again while nobody writes.
    public func lookAtDisk() {
        lag.pass(to: time.nanoseconds())
        notePressure()
    }
}
