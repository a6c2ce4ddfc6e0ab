// What waits to be sent to one client: first bytes of its own (replies, snapshots and
// what earlier turns left over), then its share of this turn's log.

import PlugboardMemory
import PlugboardWire

/// The output of one session.
struct Outbox: ~Copyable {
    /// The client's own bytes.
    var own = ByteBuffer()
    /// Its newest run in the turn's log; −1 if there is none. Nearly always it is the only one.
    private(set) var newestStart: Int32 = -1
    private(set) var newestEnd: Int32 = -1
    /// The earlier runs: a chain in the log from first to last, −1 if there is none.
    private(set) var firstExtent: Int32 = -1
    private(set) var lastExtent: Int32 = -1
    private(set) var runs: Int32 = 0
    private(set) var sharedBytes = 0

    init() {}

    @inline(__always) var count: Int { own.count &+ sharedBytes }
    @inline(__always) var isEmpty: Bool { own.isEmpty && sharedBytes == 0 }

    /// Adds a line of the log to the newest run. False if the line doesn't follow on that.
    @inline(__always)
    mutating func extend(with line: ByteRange) -> Bool {
        guard newestEnd == Int32(truncatingIfNeeded: line.start) else { return false }
        newestEnd = Int32(truncatingIfNeeded: line.end)
        sharedBytes &+= line.count
        return true
    }

    /// Begins another run with a line of the log. The newest one must be in the chain by now.
    mutating func beginRun(with line: ByteRange) {
        newestStart = Int32(truncatingIfNeeded: line.start)
        newestEnd = Int32(truncatingIfNeeded: line.end)
        sharedBytes &+= line.count
        runs += 1
    }

    /// The end of the chain of earlier runs is now at `index`.
    mutating func noteChained(at index: Int32) {
        if lastExtent < 0 { firstExtent = index }
        lastExtent = index
    }

    /// Forgets its share of the turn's log.
    mutating func dropShared() {
        newestStart = -1
        newestEnd = -1
        firstExtent = -1
        lastExtent = -1
        runs = 0
        sharedBytes = 0
    }

    /// Copies its share of the log to its own bytes, so that more can follow, or because
    /// the turn ends before it was sent. The first `skipping` bytes of it are left out.
    mutating func takeOver(_ log: borrowing TurnLog, skipping: Int = 0) {
        if sharedBytes == 0 { return }
        var toSkip = skipping
        own.reserve(sharedBytes - skipping)
        var next = TurnLog.firstRun(of: self)
        while next != TurnLog.noRun {
            let run = log.run(&next, of: self)
            let skipped = min(toSkip, run.count)
            toSkip -= skipped
            own.append(run[skipped...])
        }
        dropShared()
    }
}

extension Outbox {
    private static var always: Invariants { Invariants(of: "Outbox") }

    /// Between two turns all that waits is the client's own: the log has ended.
    func checkInvariants(_ client: UInt64) throws(BrokenInvariant) {
        let isOwn = sharedBytes == 0 && runs == 0 && firstExtent < 0 && lastExtent < 0 && newestEnd < 0
        try Self.always.hold("nothing in it is of a log that has ended", isOwn, of: "client \(client)")
    }
}
