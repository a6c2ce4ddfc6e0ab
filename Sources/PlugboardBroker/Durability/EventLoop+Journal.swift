// The loop's side of the journal. The records of a turn are written before anybody is told of it. Replies are
// sent when their writes are on disk. Once a second, the journal does the rest of its work.

import PlugboardJournal
import PlugboardPosix
import PlugboardWire

extension EventLoop {
    /// Reads a journal into the bus, and goes on writing it. Throws `JournalError` or `SystemError` before
    /// anybody is served.
    mutating func open(_ folder: JournalFolder, _ options: JournalOptions) throws {
        let worker = try BackgroundWorker(folder.store, wakeup: orders.wakeup)
        var options = options
        options.isGoingOn = folder.isInherited
        try open(folder.store, worker: worker, options, boot: SystemBoot.identity(), readsAhead: true)
    }

    /// Reads the journal in a store. `worker` syncs it.
    mutating func open(
        _ store: any FileStore,
        worker: any JournalWorker,
        _ options: JournalOptions,
        boot: String,
        readsAhead: Bool = false,
        newEpoch: () -> String = Journal.newEpoch
    ) throws {
        hub.deadlines.boot = boot
        let time = time
        var records = RecordBuffer(clock: { time.millisecondsSince1970() })
        var opened: JournalWriter?
        let recovered = try hub.restore { take, expect in
            let (recovered, writer, epoch) = try Journal.open(
                store,
                worker: worker,
                options: options,
                boot: boot,
                time: time,
                newEpoch: newEpoch,
                records: &records,
                readsAhead: readsAhead,
                expect: expect,
                take
            )
            opened = writer
            return (recovered, epoch)
        }
        if let opened { hub.durability.begin(opened, records) }
        tell(recovered, hub.keyspace.keyCount)
        try hub.endRestoring(snapshotRevision: recovered.snapshotRevision)
        try writeRecords()
    }

    private func tell(_ recovered: Recovered, _ keys: Int) {
        guard recovered.epoch != nil else { return }
        let held = "\(keys) key\(keys == 1 ? "" : "s")"
        if keys > 0 { report("the journal holds \(held) up to revision \(recovered.revision)") }
        if let torn = recovered.torn {
            let rest = torn.keptAs.map { "is kept as \($0)" } ?? "is lost, because the disk is full"
            report("its end was not whole: cut at \(torn.place), the rest \(rest)")
        }
        if recovered.isRepaired {
            report("the journal was repaired: revisions begin a new epoch")
        } else if recovered.mayLack {
            report("the machine had stopped before all was on disk: revisions begin a new epoch")
        } else if recovered.mayBeCopy {
            report("the journal may be an older copy that was put back: revisions begin a new epoch")
        }
    }

    @inline(__always)
    mutating func keepRecords() throws {
        if !hub.durability.isWritten { try writeRecords() }
    }

    @inline(never)
    mutating func writeRecords() throws {
        guard hub.durability.journal != nil else { return }
        try hub.durability.write(revision: hub.revision)
        try hub.beginSnapshots()
        try hub.durability.askForSync(time)
        if hub.durability.hasNews { try takeJournalNews() }
    }

    /// Does the journal's work of once a second, while something was written or is still to be.
    mutating func tickJournal() throws {
        if hub.durability.isGathering { try hub.durability.askForSync(time) }
        if hub.durability.hasNews { try takeJournalNews() }
        guard try hub.durability.tick(time) else { return }
        try hub.beginSnapshots()
        if hub.durability.hasNews { try takeJournalNews() }
    }

    mutating func takeJournalNews() throws {
        for news in try hub.durability.journal?.takeNews(&hub.durability.records) ?? [] {
            switch news {
            case .read(let piece): hub.requests.add(.pass(piece))
            case .synced(let mark): hub.answerDurable(upTo: mark)
            case .gone(let mark, let isNew):
                if isNew { warn(.storage, hub.durability.goneWarning) }
                hub.answerDurable(upTo: mark, hub.durability.goneRefusal)
            case .found: endWarning(hub.durability.goneWarning, "the journal's file is in its folder again")
            case .compactionFailed(let message): warn(.storage, "no snapshot could be made: \(message)")
            case .behind(let seconds, let bytes):
                warn(
                    .storage,
                    "\(Self.behind): its sync has taken \(seconds) s by now, and \(bytes) bytes wait; "
                        + "if the machine stops, they may be lost"
                )
            case .caughtUp: endWarning(Self.behind, "the disk under the journal has caught up")
            case .full(true): warn(.storage, "\(Self.full): writes are refused")
            case .full(false): endWarning(Self.full, "there is room for the journal again")
            }
        }
    }

    private static var behind: String { "the disk under the journal is behind" }
    private static var full: String { "the disk under the journal is full" }

    mutating func warn(_ kind: Warnings.Kind, _ message: String) {
        report(message)
        hub.warn(kind, message)
    }

    private mutating func endWarning(_ start: String, _ message: String) {
        report(message)
        hub.endWarnings(start)
    }

    /// Drops what waits to be sent, because it may tell of writes that are not kept. Clients that come back
    /// get the values of that time.
    mutating func forgetUntold() {
        for connection in connections.all() {
            for subscription in hub.sessions[connection.session].subscriptions.list.all {
                hub.writeOff(subscription)
            }
            dropUnread(connection)
        }
    }

    /// Writes can't be kept any more: reports the error, and goes on without a journal.
    mutating func loseJournal(_ error: JournalError) {
        hub.durability.loseJournal()
        warn(.storage, "\(error)")
    }
}
