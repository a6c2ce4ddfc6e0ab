// Copies the values in memory into a snapshot of the journal, in the order of the keys, some of them in each turn. The
// snapshot has the values of the moment at which it began: a value that changes before its turn is copied first.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

/// A copy that is being made. Owned by `Durability`.
struct StateCopy: ~Copyable {
    fileprivate var snapshot: StateSnapshot
    fileprivate let journal: JournalWriter
    fileprivate let values: CarriedValues
    /// The revision of the moment. A newer value isn't part of the snapshot: the one before it was copied early.
    fileprivate let revision: UInt64
    /// All keys up to this one were copied; empty at the beginning.
    fileprivate var last = ByteBuffer()

    /// A key's value is about to change.
    mutating func copyBefore(
        of observable: ObservableHandle, _ keyspace: borrowing Keyspace, _ deadlines: borrowing Deadlines
    ) {
        if !last.isEmpty, !KeyOrder.precedes(last.bytes, keyspace[observable].key) { return }
        add(observable, keyspace, deadlines)
    }

    /// So much waits to be written that no more should be copied now.
    var isHeldUp: Bool { !journal.needsSnapshotAtOnce && snapshot.isHeldUp }

    /// Copies the next values. To look at a key takes a visit, and to copy a long value more. Returns whether it is done.
    mutating func goOn(
        _ keyspace: borrowing Keyspace, _ deadlines: borrowing Deadlines, _ visits: inout Int
    ) -> Bool {
        if isHeldUp { return false }
        var next = keyspace.first(from: last.bytes)
        if let observable = next, keyspace[observable].key.isEqual(to: last.bytes) {
            next = keyspace.next(after: observable)
        }
        while let observable = next {
            guard visits > 0 else { return false }
            visits -= 1
            next = keyspace.next(after: observable)
            visits -= keyspace.value(of: observable).count / Self.bytesPerVisit
            if visits <= 0, next != nil {
                last.removeAll()
                last.append(keyspace[observable].key)
            }
            add(observable, keyspace, deadlines)
        }
        return true
    }

    private static let bytesPerVisit = 4_096

    consuming func end() { journal.end(snapshot) }
    consuming func abandon() { journal.abandon(snapshot) }

    /// Adds the value of a key, unless it has none of the moment.
    private mutating func add(
        _ observable: ObservableHandle, _ keyspace: borrowing Keyspace, _ deadlines: borrowing Deadlines
    ) {
        if values.includes(observable, keyspace, upTo: revision) {
            snapshot.append(values.commit(observable, keyspace, deadlines))
        }
    }
}

extension Hub {
    /// Begins a snapshot if a file of the journal has ended and it is time for one. Call it before a value changes.
    /// Returns whether a file has ended: then there may be more room.
    mutating func beginSnapshot() -> Bool {
        guard let journal = durability.journal, journal.hasEndedSegment else { return false }
        let live = durability.records.liveBytes
        if let snapshot = journal.beginSnapshot(keys: keyspace.keyCount, live: live) {
            let values = CarriedValues(deadlines.clock)
            durability.copy = StateCopy(
                snapshot: snapshot, journal: journal, values: values, revision: revision)
            goOnWithSnapshot(effort: 0)
        }
        return true
    }

    mutating func beginSnapshots() throws {
        while beginSnapshot() { try durability.journal?.keepRoom(&durability.records) }
    }

    /// Makes room in the journal for a record of so many bytes, or throws; then nothing has changed.
    @inline(never)
    mutating func makeRoom(needed: Int) throws(Refusal) {
        var hasRoom = false
        repeat {
            hasRoom = durability.makeRoom(needed: needed, revision: revision)
        } while beginSnapshot() && !hasRoom
        guard !hasRoom else { return }
        throw Refusal(
            .storage,
            "the disk under the journal is full: nothing was written",
            hint: "it works again when there is room"
        )
    }

    /// Copies so much of the state as takes this effort, or all of it if clients have to wait for the snapshot.
    mutating func goOnWithSnapshot(effort: UInt64) {
        let isUrgent = durability.journal?.needsSnapshotAtOnce == true
        let most = isUrgent ? .max : max(Self.keysAtOnceMin, Int(effort) / Cost.copied)
        var left = most
        if durability.copy?.goOn(keyspace, deadlines, &left) == true { durability.copy.take()?.end() }
        insight.count(steps: (most - left) * Cost.copied)
    }

    private static let keysAtOnceMin = 256

    /// A value is about to change while the state is being copied.
    @inline(never)
    mutating func copyEarly(_ observable: ObservableHandle) {
        durability.copy?.copyBefore(of: observable, keyspace, deadlines)
        insight.count(steps: Cost.copied)
    }
}
