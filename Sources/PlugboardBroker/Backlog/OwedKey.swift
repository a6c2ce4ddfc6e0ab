// One key that a subscription is owed: a few words. A broker may have millions of them, so what few of them
// need lies apart. Which value is told is found when there is room for the line.

import PlugboardMemory
import PlugboardWire

/// One key that is owed.
struct OwedKey: BitwiseCopyable {
    /// What the observer knows of the key.
    enum Knowledge: UInt8, BitwiseCopyable {
        /// The value that it was told last.
        case told
        /// Nothing: the key is part of the snapshot.
        case nothing
        /// It isn't known here, as the observer was away.
        case unsure
    }

    let observable: ObservableHandle
    /// The newest revision, a delete's too.
    var revision: UInt64
    /// The number of that event in the turn's log; 0 where it came before the observer.
    var event: UInt64
    /// Updates folded into the newest.
    private(set) var skipped: UInt32 = 0
    private(set) var knowledge = Knowledge.told
    /// Waits for observers of an earlier phase; only then may something be noted of acknowledgements.
    var isGated = false
    /// The observer was sent what is held.
    var wasSent = false
    /// Its line was made before the value changed, and is held; empty where the observer is told nothing.
    var isWritten = false

    /// What a key that is owed is counted for, in bytes: no more is kept of it, about.
    static let countedBytes = 56

    /// An event that has to wait.
    init(_ observable: ObservableHandle, revision: UInt64, event: UInt64) {
        self.observable = observable
        self.revision = revision
        self.event = event
    }

    /// What came before the observer.
    init(_ observable: ObservableHandle, revision: UInt64, _ knowledge: Knowledge) {
        self.init(observable, revision: revision, event: 0)
        self.knowledge = knowledge
    }

    /// The observer knows the key, and it waits for nobody else.
    @inline(__always) var isPlain: Bool { !isInitial && !isGated }
    @inline(__always) var isInitial: Bool { knowledge == .nothing }
    var isMissed: Bool { knowledge == .unsure }
    /// `synced` follows when it was told.
    var isAwaited: Bool { knowledge != .told }

    /// One update more is folded into the newest.
    @inline(__always)
    mutating func countSkipped() {
        if skipped < .max { skipped += 1 }
    }

    /// The observer missed a write of it.
    mutating func noteMissed() { knowledge = .unsure }
}

/// What is kept of a key that is owed besides.
struct OwedNotes {
    /// The value that the observer saw last, where its lines need it; or the whole line, if that was made.
    var held: HeldBytes?
    /// Who had not acknowledged when time was up: the encoded names.
    var unacknowledged: HeldBytes?
}
