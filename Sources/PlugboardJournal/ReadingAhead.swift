// A recovery on a thread of its own, while the caller takes what was read. With two processors it takes the
// longer of both times instead of their sum. Some batches may wait between both, because now the one is slower and
// now the other, and because other programs may stop either for a while.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import Synchronization

/// Reads a journal for another thread. It is used once.
final class ReadingAhead: Sendable {
    /// A batch has at least so many bytes, unless it is the last one.
    private static let batchBytes = 131_072
    private static let waitingMax = 32
    /// Who has to wait sleeps only after this time. Each mostly waits for a part of a batch, and a sleeper that is
    /// woken often gets the processor of whoever woke it, while another one is idle: then nothing is done at once.
    private static let patienceSeconds = 0.001

    private struct State: ~Copyable {
        /// The batches that wait, the oldest first.
        private var waiting: [RecordBatch] = []
        /// Empty ones, whose memory is used again.
        private var empty: [RecordBatch] = []
        /// How the recovery ended. No batch follows.
        var outcome: Result<Recovered, any Error>?
        /// Nobody takes more.
        var isGivenUp = false
        /// Who sleeps, if anybody does. Both never wait at the same time.
        private var sleeper: Wakeup?

        /// Exchanges an empty batch for the next one. Returns false if none waits.
        mutating func take(_ batch: inout RecordBatch) -> Bool {
            if waiting.isEmpty { return false }
            empty.append(batch)
            batch = waiting.removeFirst()
            return true
        }

        /// Exchanges a batch for an empty one. Returns false if too many wait.
        mutating func add(_ batch: inout RecordBatch) -> Bool {
            if waiting.count == ReadingAhead.waitingMax { return false }
            waiting.append(batch)
            batch = empty.popLast() ?? RecordBatch()
            return true
        }

        mutating func sleep(_ wakeup: Wakeup) { sleeper = wakeup }
        /// There is something new for whoever sleeps.
        mutating func wake() { sleeper.take()?.signal() }
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
        let processor = ProcessorPlace.current
        try Background.start { [self] in
            _ = try? ProcessorPlace(.allBut(processor))
            read(store, boot)
        }
        defer {
            state.withLock { state in
                state.isGivenUp = true
                state.wake()
            }
        }
        var batch = RecordBatch()
        while true {
            var outcome: Result<Recovered, any Error>?
            wait(hasRead) { state in
                if state.take(&batch) { return true }
                outcome = state.outcome
                return outcome != nil
            }
            if let outcome { return try outcome.get() }
            try batch.forEach(expect, take)
            batch.removeAll()
        }
    }

    /// Waits until `isDone`, which the other thread makes possible.
    private func wait(_ wakeup: Wakeup, _ isDone: (inout State) throws -> Bool) rethrows {
        let patience = TimeLimit(seconds: Self.patienceSeconds)
        while true {
            let isOver = patience.isOver
            let isDone = try state.withLock { state in
                let isDone = try isDone(&state)
                if isDone { state.wake() } else if isOver { state.sleep(wakeup) }
                return isDone
            }
            if isDone { return }
            if isOver {
                PipeCalls.waitReadable(wakeup.raw)
                wakeup.drain()
            } else {
                Pause.letOthersRun()
            }
        }
    }

    // MARK: The thread

    private func read(_ store: any FileStore, _ boot: String) {
        var batch = RecordBatch()
        let outcome = Result {
            let found = try Recovery.run(store, boot: boot, isCutting: true) { record, line in
                batch.append(record, line)
                if batch.bytes.count >= Self.batchBytes { try hand(over: &batch) }
            }
            try hand(over: &batch)
            return found
        }
        state.withLock { state in
            state.outcome = outcome
            state.wake()
        }
    }

    /// Hands a batch over and gets an empty one, as soon as few enough wait.
    private func hand(over batch: inout RecordBatch) throws {
        try wait(hasTaken) { state in
            if state.isGivenUp { throw GivenUp() }
            return state.add(&batch)
        }
    }

    /// Ends a recovery that nobody waits for.
    private struct GivenUp: Error {}
}

extension RecordBatch {
    /// So many records ahead. Memory comes while as many are taken.
    private static let expected = 8
    /// So many ahead, the line itself is fetched from where the other thread has left it.
    private static let fetched = 12

    fileprivate func forEach(_ expect: (Span<UInt8>) -> Void, _ take: RecordTaker) throws {
        let bytes = bytes.span
        for index in entries.indices {
            if index + Self.fetched < entries.count {
                entries[index + Self.fetched].place.bytes(of: bytes).prefetch()
            }
            if index + Self.expected < entries.count {
                let line = entries[index + Self.expected].place.bytes(of: bytes)
                expect(entries[index + Self.expected].record.key.bytes(of: line))
            }
            try take(entries[index].record, entries[index].place.bytes(of: bytes))
        }
    }
}
