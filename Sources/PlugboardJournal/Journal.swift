// A journal from outside: opened, its state taken, then written to.

import PlugboardPosix

/// The journal of one broker.
public enum Journal {
    /// Reads what a journal holds, gives it to `take` in order, and begins to write behind it.
    /// `records` is what the writer writes from then on. Throws `JournalError` or `SystemError`;
    /// a journal that is damaged has not been changed.
    public static func open(
        _ store: any FileStore,
        worker: any JournalWorker,
        options: JournalOptions,
        boot: String,
        time: TimeSource = .system,
        newEpoch: () -> String,
        records: inout RecordBuffer,
        _ take: RecordTaker
    ) throws -> (Recovered, JournalWriter, epoch: String) {
        var recovery = try Recovery(store)
        var recovered = try recovery.run(isCutting: true, boot: boot, take)
        if recovered.hasFailed {
            try writeAnew(store, options, &recovered)
        } else if recovered.isOverdue(options) {
            try? compact(store, options, &recovered)
        } else if isShort(store, recovered) {
            makeRoom(store, options, &recovered)
        }
        let epoch = recovered.mayLack ? newEpoch() : recovered.epoch ?? newEpoch()
        let writer = try JournalWriter(
            store,
            worker: worker,
            options: options,
            after: recovered,
            epoch: epoch,
            boot: boot,
            time: time
        )
        do {
            try writer.begin(&records, revision: recovered.revision, chain: recovered.chain)
        } catch {
            // Who follows finds the first line, and it may never be on disk.
            writer.noteFailure()
            throw error
        }
        return (recovered, writer, epoch)
    }

    /// After a sync that failed the system has what was written in its memory and takes it for
    /// written: no later sync tells whether it is. So all of it is written once more, before
    /// anybody is served.
    private static func writeAnew(
        _ store: any FileStore,
        _ options: JournalOptions,
        _ recovered: inout Recovered
    ) throws {
        do {
            if recovered.lastSegment > 0 { try compact(store, options, &recovered) }
            try store.remove(JournalFiles.failed)
        } catch let error as SystemError {
            throw JournalError.failed(error)
        }
    }

    /// There is no room, and there may be after a snapshot.
    private static func isShort(_ store: any FileStore, _ recovered: Recovered) -> Bool {
        guard recovered.looseBytes > 0, let free = store.freeBytes() else { return false }
        if recovered.lastSegment > 0, free < JournalLimits.shortBytes {
            // A broker that was killed had room reserved behind it.
            try? store.sync(JournalFiles.segment(recovered.lastSegment))
        }
        return store.freeBytes() ?? 0 < JournalLimits.shortBytes
    }

    /// Makes a snapshot, if need be in the place of the history.
    private static func makeRoom(
        _ store: any FileStore,
        _ options: JournalOptions,
        _ recovered: inout Recovered
    ) {
        var options = options
        options.historyBytes = 0
        if (try? compact(store, options, &recovered)) != nil { return }
        _ = JournalWork.trim(before: recovered.snapshot + 1, isCertain: false, store)
        try? compact(store, options, &recovered)
    }

    /// Makes the snapshot that the brokers before had no time for. Where it can't be made, all stays
    /// as it is, and is tried again beside the loop.
    private static func compact(
        _ store: any FileStore,
        _ options: JournalOptions,
        _ recovered: inout Recovered
    ) throws {
        let compactor = Compactor(store)
        let last = recovered.lastSegment
        let request = CompactionRequest(segment: last, historyBytes: options.historyBytes)
        let result = try compactor.run(request)
        (recovered.snapshotBytes, recovered.snapshot) = (result.snapshotBytes, last)
        (recovered.looseBytes, recovered.looseSegments) = (0, 0)
        recovered.unsynced = []
    }

    /// A name for a life of the revision counter, which no other has.
    public static func newEpoch() -> String {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - number.count) + number
    }

    /// Reads a journal without changing anything, as a broker would that began during `boot`.
    public static func check(_ store: any FileStore, boot: String = "", _ take: RecordTaker) throws
        -> Recovered
    {
        var recovery = try Recovery(store)
        return try recovery.run(isCutting: false, boot: boot, take)
    }
}
