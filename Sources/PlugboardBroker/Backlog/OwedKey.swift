// One key that a subscription is owed. It takes a few words, because a broker may have millions of them. What
// only few of them need is in `OwedNotes`. The value is looked up when there is room for the line.

import PlugboardMemory
import PlugboardWire

/// One owed key.
struct OwedKey: BitwiseCopyable {
    /// What the observer knows about the key.
    enum Knowledge: UInt8, BitwiseCopyable {
        /// The last value that it was sent.
        case told
        /// Nothing. The key is part of the snapshot.
        case nothing
        /// Unknown, because the observer was away.
        case unsure
    }

    let observable: ObservableHandle
    /// The newest revision, also of a delete.
    var revision: UInt64
    /// The number of that event in the turn's log; 0 if it was before the observer came.
    var event: UInt64
    /// How many updates were folded into the newest.
    private(set) var skipped: UInt32 = 0
    private(set) var knowledge = Knowledge.told
    /// It waits for observers of an earlier phase. Only such a key can have notes about acknowledgements.
    var isGated = false
    /// The observer was sent the value that is held.
    var wasSent = false
    /// Its line was made before the value changed, and is held. The line is empty if the observer gets none.
    var isWritten = false

    /// How many bytes an owed key counts: about what it takes up at most.
    static let countedBytes = 56

    /// An event that has to wait.
    init(_ observable: ObservableHandle, revision: UInt64, event: UInt64) {
        self.observable = observable
        self.revision = revision
        self.event = event
    }

    /// A key from before the observer came.
    init(_ observable: ObservableHandle, revision: UInt64, _ knowledge: Knowledge) {
        self.init(observable, revision: revision, event: 0)
        self.knowledge = knowledge
    }

    /// The observer knows the key, and it waits for no phase.
    @inline(__always) var isPlain: Bool { !isInitial && !isGated }
    @inline(__always) var isInitial: Bool { knowledge == .nothing }
    var isMissed: Bool { knowledge == .unsure }
    /// It is sent before `synced`.
    var isAwaited: Bool { knowledge != .told }

    /// One more update was folded into the newest.
    @inline(__always)
    mutating func countSkipped() {
        if skipped < .max { skipped += 1 }
    }

    /// The observer missed a write of it.
    mutating func noteMissed() { knowledge = .unsure }

    /// It was withheld, and may have been written meanwhile.
    mutating func noteReleased(at newest: UInt64, isGated: Bool) {
        if newest > revision {
            if !isInitial { countSkipped() }
            revision = newest
        }
        noteMissed()
        (event, self.isGated, wasSent, isWritten) = (0, isGated, false, false)
    }
}

/// What is kept of some owed keys.
struct OwedNotes {
    /// The value that the observer saw last, if its lines need it; or the whole line, if it was made already.
    var held: HeldBytes?
    /// Those who had not acknowledged in time.
    var unacknowledged: LateNames?
}
