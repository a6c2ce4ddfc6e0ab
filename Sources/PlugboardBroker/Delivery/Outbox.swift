// What waits to be sent to one client: first bytes of its own (replies, snapshots and
// what earlier turns left over), then its share of this turn's log.

import PlugboardMemory
import PlugboardWire

/// The output of one session.
struct Outbox: ~Copyable {
    /// The client's own bytes.
    var own = ByteBuffer()
    /// Its runs in the turn's log: a chain from first to last, −1 where there is none.
    var firstExtent: Int32 = -1
    var lastExtent: Int32 = -1
    var runs: Int32 = 0
    var sharedBytes = 0

    init() {}

    @inline(__always) var count: Int { own.count &+ sharedBytes }
    @inline(__always) var isEmpty: Bool { own.isEmpty && sharedBytes == 0 }

    /// Forgets its share of the turn's log.
    mutating func dropShared() {
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
        var next = firstExtent
        while next >= 0 {
            let run = log.run(&next)
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
        let isOwn = sharedBytes == 0 && runs == 0 && firstExtent < 0 && lastExtent < 0
        try Self.always.hold("nothing in it is of a log that has ended", isOwn, of: "client \(client)")
    }
}
