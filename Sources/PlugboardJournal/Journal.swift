// The journal's entry point: open it, get its state, then write to it. The
// broker calls it once, before it serves anybody. A damaged journal is
// refused and not changed.

import PlugboardPosix

/// Opens and checks journals.
public enum Journal {
    /// Reads what a journal has, passes it to `take` in order, and begins to write after it. From
    /// then on the writer writes what is added to `records`. Throws `JournalError` or
    /// `SystemError`; a damaged journal is unchanged then.
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
            // The successor finds this first line, which may never get to disk.
            writer.noteFailure()
            throw error
        }
        return (recovered, writer, epoch)
    }

    /// After a failed sync, the system has the bytes in memory and takes them for written, so no
    /// later sync tells whether they are. So everything is written again before anybody is served.
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

    /// Whether there is too little room, and a snapshot may give some back.
    private static func isShort(_ store: any FileStore, _ recovered: Recovered) -> Bool {
        guard recovered.looseBytes > 0, let free = store.freeBytes() else { return false }
        if recovered.lastSegment > 0, free < JournalLimits.shortBytes {
            // A killed broker left reserved room after the end.
            try? store.sync(JournalFiles.segment(recovered.lastSegment))
        }
        return store.freeBytes() ?? 0 < JournalLimits.shortBytes
    }

    /// Makes a snapshot, if necessary at the cost of the history.
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

    /// Makes the snapshot that earlier brokers had no time for. If it fails, everything stays as
    /// it is, and the writer tries again later.
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

    /// A new name for a life of the revision counter. No other life has it.
    public static func newEpoch() -> String {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - number.count) + number
    }

    /// Reads a journal without changing anything, as a broker that starts during `boot` would.
    public static func check(_ store: any FileStore, boot: String = "", _ take: RecordTaker) throws
        -> Recovered
    {
        var recovery = try Recovery(store)
        return try recovery.run(isCutting: false, boot: boot, take)
    }
}
