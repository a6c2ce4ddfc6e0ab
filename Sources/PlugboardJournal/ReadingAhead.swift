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
    /// Who has to wait looks again after so long. That is less than the other one takes for the batches that may wait,
    /// so only the quicker one ever waits.
    private static let pauseSeconds = 0.000_05

    private struct State {
        /// The batches that wait, the oldest first.
        var waiting: [RecordBatch] = []
        /// Empty ones, whose memory is used again.
        var empty: [RecordBatch] = []
        /// How the recovery ended. No batch follows.
        var outcome: Result<Recovered, any Error>?
    }

    private let state = Mutex(State())

    /// The same as `Recovery.run`. `take` runs on the calling thread. `expect` gets most keys a little before, so that
    /// their memory can be fetched.
    func run(
        _ store: any FileStore,
        boot: String,
        expect: (Span<UInt8>) -> Void = { _ in },
        _ take: RecordTaker
    ) throws -> Recovered {
        let processor = ProcessorPlace.current
        try Background.start { [self] in
            _ = try? ProcessorPlace(.allBut(processor))
            let outcome = Result { try read(store, boot) }
            state.withLock { $0.outcome = outcome }
        }
        var batch = RecordBatch()
        while true {
            var outcome: Result<Recovered, any Error>?
            wait { state in
                if state.waiting.isEmpty {
                    outcome = state.outcome
                    return outcome != nil
                }
                state.empty.append(batch)
                batch = state.waiting.removeFirst()
                return true
            }
            if let outcome { return try outcome.get() }
            batch.forEach(expect, take)
            batch.removeAll()
        }
    }

    /// Waits until `isDone`, which the other thread makes possible.
    private func wait(until isDone: (inout State) -> Bool) {
        while !state.withLock({ isDone(&$0) }) { Pause.sleep(seconds: Self.pauseSeconds) }
    }

    // MARK: The thread

    private func read(_ store: any FileStore, _ boot: String) throws -> Recovered {
        var batch = RecordBatch()
        let found = try Recovery.run(store, boot: boot, isCutting: true) { record, line in
            batch.append(record, line)
            if batch.bytes.count >= Self.batchBytes { hand(over: &batch) }
        }
        hand(over: &batch)
        return found
    }

    /// Hands a batch over and gets an empty one, as soon as few enough wait.
    private func hand(over batch: inout RecordBatch) {
        wait { state in
            if state.waiting.count == Self.waitingMax { return false }
            state.waiting.append(batch)
            batch = state.empty.popLast() ?? RecordBatch()
            return true
        }
    }
}

extension RecordBatch {
    /// So many records ahead. Memory comes while as many are taken.
    private static let expected = 8
    /// So many ahead, the line itself is fetched from where the other thread has left it.
    private static let fetched = 12

    fileprivate func forEach(_ expect: (Span<UInt8>) -> Void, _ take: RecordTaker) {
        let bytes = bytes.span
        for index in entries.indices {
            if index + Self.fetched < entries.count {
                entries[index + Self.fetched].place.bytes(of: bytes).prefetch()
            }
            if index + Self.expected < entries.count {
                let line = entries[index + Self.expected].place.bytes(of: bytes)
                expect(entries[index + Self.expected].record.key.bytes(of: line))
            }
            take(entries[index].record, entries[index].place.bytes(of: bytes))
        }
    }
}
