// A recovery on a thread of its own, while the caller takes what was read. With two processors it takes the
// longer of both times instead of their sum. One batch is read, one is taken, and one may wait between them.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import Synchronization

/// Reads a journal for another thread. It is used once.
final class ReadingAhead: Sendable {
    /// A batch has at least so many bytes, unless it is the last one.
    private static let batchBytes = 262_144

    private struct State {
        /// The batch that waits. Whoever takes it leaves an empty one, whose memory is used again.
        var batch = RecordBatch()
        /// How the recovery ended. No batch follows.
        var outcome: Result<Recovered, any Error>?
        /// Nobody takes more.
        var isGivenUp = false
    }

    private let state = Mutex(State())
    private let hasRead: Wakeup
    private let hasTaken: Wakeup

    /// Throws `SystemError`.
    init() throws {
        hasRead = try Wakeup()
        hasTaken = try Wakeup()
    }

    /// The same as `Recovery.run`. `take` runs on the calling thread. If it throws, nothing more is read. `expect` gets
    /// most keys a little before, so that their memory can be fetched.
    func run(
        _ store: any FileStore,
        boot: String,
        expect: (Span<UInt8>) -> Void = { _ in },
        _ take: RecordTaker
    ) throws -> Recovered {
        try Background.start { [self] in read(store, boot) }
        defer {
            state.withLock { $0.isGivenUp = true }
            hasTaken.signal()
        }
        var batch = RecordBatch()
        while true {
            batch.removeAll()
            let outcome = state.withLock { state in
                swap(&state.batch, &batch)
                return state.outcome
            }
            hasTaken.signal()
            try batch.forEach(expect, take)
            if let outcome { return try outcome.get() }
            if batch.isEmpty {
                PipeCalls.waitReadable(hasRead.raw)
                hasRead.drain()
            }
        }
    }

    // MARK: The thread

    private func read(_ store: any FileStore, _ boot: String) {
        var batch = RecordBatch()
        let outcome = Result {
            var recovery = try Recovery(store)
            let found = try recovery.run(isCutting: true, boot: boot) { record, line in
                batch.append(record, line)
                if batch.byteCount >= Self.batchBytes { try hand(over: &batch) }
            }
            try hand(over: &batch)
            return found
        }
        state.withLock { $0.outcome = outcome }
        hasRead.signal()
    }

    /// Hands a batch over and gets an empty one, as soon as the one before was taken.
    private func hand(over batch: inout RecordBatch) throws {
        while true {
            let isDone = try state.withLock { state in
                if state.isGivenUp { throw GivenUp() }
                if !state.batch.isEmpty { return false }
                swap(&state.batch, &batch)
                return true
            }
            if isDone { return hasRead.signal() }
            PipeCalls.waitReadable(hasTaken.raw)
            hasTaken.drain()
        }
    }

    /// Ends a recovery that nobody waits for.
    private struct GivenUp: Error {}
}

/// Records that were read, with the bytes of their lines.
private struct RecordBatch: Sendable {
    private var bytes: [UInt8] = []
    private var records: [(record: RecordLine, line: ByteRange)] = []

    var byteCount: Int { bytes.count }
    var isEmpty: Bool { records.isEmpty }

    mutating func append(_ record: RecordLine, _ line: Span<UInt8>) {
        let start = bytes.count
        bytes.append(line)
        records.append((record, ByteRange(start, bytes.count)))
    }

    func forEach(_ expect: (Span<UInt8>) -> Void, _ take: RecordTaker) throws {
        let bytes = bytes.span
        for index in records.indices {
            if index + Self.expected < records.count {
                let (later, line) = records[index + Self.expected]
                expect(later.key.bytes(of: line.bytes(of: bytes)))
            }
            let (record, line) = records[index]
            try take(record, line.bytes(of: bytes))
        }
    }

    /// So many records ahead. Memory comes while as many are taken.
    private static let expected = 8

    /// Removes the records and keeps the memory.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        records.removeAll(keepingCapacity: true)
    }
}
