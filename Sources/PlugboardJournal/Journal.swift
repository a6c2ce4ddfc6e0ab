// The journal's entry point: it opens a journal, passes on the state and returns the writer. A broker
// opens its journal once, before it serves anybody. A damaged journal is refused, and its segments and
// snapshots stay as they are.

import PlugboardPosix

/// Opens and checks journals.
public enum Journal {
    /// Passes every update and delete in the journal to `take`, in order, and begins a new segment. The
    /// returned writer writes what is added to `records` afterwards. `boot` names the machine's present
    /// start. With `readsAhead`, another thread reads while this one takes, and `expect` gets the key of each record a
    /// little before `take`. Throws `JournalError` or `SystemError`. A damaged journal keeps its segments and snapshots.
    public static func open(
        _ store: any FileStore,
        worker: any JournalWorker,
        options: JournalOptions,
        boot: String,
        time: TimeSource = .system,
        newEpoch: () -> String,
        records: inout RecordBuffer,
        readsAhead: Bool = false,
        expect: (Span<UInt8>) -> Void = { _ in },
        _ take: RecordTaker
    ) throws -> (Recovered, JournalWriter, epoch: String) {
        var recovered =
            if readsAhead {
                try ReadingAhead().run(store, boot: boot, expect: expect, take)
            } else {
                try Recovery.run(store, boot: boot, isCutting: true, take)
            }
        if options.isGoingOn || recovered.isRepaired { recovered.mayBeCopy = false }
        let isNew = recovered.mayLack || recovered.mayBeCopy
        let epoch = isNew ? newEpoch() : recovered.epoch ?? newEpoch()
        var index = try SegmentIndex(store, epoch: epoch, after: recovered)
        do {
            // A killed broker may have made the snapshot, and its name may not be on disk. It replaces segments.
            if index.snapshot > 0, !recovered.isClosed { try certainly(store.syncNames) }
            trimIfShort(store, &index, after: recovered.lastSegment)
            let writer = try JournalWriter(
                store, worker: worker, options: options, after: recovered, index, epoch: epoch, boot: boot,
                time: time
            )
            try writer.begin(&records, after: recovered)
            return (recovered, writer, epoch)
        } catch let error as JournalError {
            // The system tells it only once. And the next recovery may find the first line of the new segment, although it
            // may never get to disk.
            _ = try? store.create(JournalFiles.failed)
            throw error
        }
    }

    /// If the disk has too little free room for the writer to begin, the history goes.
    private static func trimIfShort(
        _ store: any FileStore, _ index: inout SegmentIndex, after segment: UInt64
    ) {
        func isShort() -> Bool { store.freeBytes() ?? .max < JournalLimits.shortBytes }
        guard segment > 0, isShort() else { return }
        // A killed broker may have left reserved room after the end. This frees it.
        try? store.sync(JournalFiles.segment(segment))
        guard isShort() else { return }
        for old in index.forgetOld(keeping: 0) { try? store.remove(JournalFiles.segment(old.number)) }
    }

    /// A random name for a life of the revision counter: 16 hexadecimal digits.
    public static func newEpoch() -> String {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - number.count) + number
    }

    /// Reads a journal as a broker would that starts during `boot`, but changes nothing. Throws
    /// `JournalError` or `SystemError`.
    public static func check(_ store: any FileStore, boot: String = "", _ take: RecordTaker) throws
        -> Recovered
    {
        try Recovery.run(store, boot: boot, isCutting: false, take)
    }

    /// Shows every record of every file to a person, also those after damage: first the snapshots, then the segments,
    /// each in the order of their numbers. Changes nothing. `show` gets no record where lines can't be read. Throws what
    /// `show` throws, `JournalError.unknownVersion` and `SystemError`.
    public static func forEachLine(
        _ store: any FileStore, _ show: (RecordLine?, Span<UInt8>, JournalPlace) throws -> Void
    ) throws {
        let files = JournalFiles(names: try store.names())
        let names = files.snapshots.map(JournalFiles.snapshot) + files.segments.map(JournalFiles.segment)
        try LogReader.read(names, in: store, skip: { try show(nil, Span(), $0.place) }) { reader in
            try show(reader.record, reader.line, reader.place)
            return true
        }
    }
}

// What can be wrong with a journal, in words for a person. Damage comes with its place.

/// A place in one of a journal's files.
public struct JournalPlace: Equatable, Sendable, CustomStringConvertible {
    public let file: String
    /// The number of bytes before it in the file.
    public let offset: Int
    /// From 1.
    public let line: Int

    public var description: String { "\(file), line \(line), byte \(offset)" }
}

/// Why a journal can't be used.
public enum JournalError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Bytes that were written completely have changed.
    case damaged(JournalPlace, String)
    /// A file is missing, although others show that it existed.
    case missing(file: String)
    /// Another process uses this journal.
    case inUse(folder: String)
    /// A file has so high a number that no journal can follow it.
    case noNumber(after: String)
    /// It was written by a later version of the program.
    case unknownVersion(JournalPlace)
    /// The system refuses what is written, or doesn't confirm that it is on disk.
    case failed(SystemError)

    public var description: String {
        switch self {
        case .damaged(let place, let what): "the journal is damaged: \(place): \(what)"
        case .missing(let file): "the journal is damaged: \(file) is missing"
        case .noNumber(let name): "no journal can follow \(name): move that file elsewhere first"
        case .inUse(let folder): "a broker uses the journal in \(folder): stop it first"
        case .unknownVersion(let place): "the journal is of a later version of plugboard: \(place)"
        case .failed(let error): "the journal can't be kept: \(error)"
        }
    }
}

/// Does what must not fail: an error of the system ends the journal.
func certainly<Result>(_ body: () throws -> Result) throws -> Result {
    do {
        return try body()
    } catch let error as SystemError {
        throw JournalError.failed(error)
    }
}
