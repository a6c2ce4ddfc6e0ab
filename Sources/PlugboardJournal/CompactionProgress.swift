// The progress of a snapshot that another thread makes. The writer
// makes it with the request. That thread counts, and the loop reads.
// It only ever grows.

import Synchronization

/// Counts the bytes that are read and written for a snapshot.
final class CompactionProgress: Sendable {
    private let total: Int
    private let done = Atomic<Int>(0)
    private let ended = Atomic<Bool>(false)

    /// `total` is about how many bytes there will be.
    init(total: Int) {
        self.total = max(1, total)
    }

    func add(_ bytes: Int) {
        done.wrappingAdd(bytes, ordering: .relaxed)
    }

    func end() {
        ended.store(true, ordering: .relaxed)
    }

    /// The snapshot is finished or has failed.
    var isOver: Bool { ended.load(ordering: .relaxed) }

    /// The share of `whole` that corresponds to the progress.
    func part(of whole: Int) -> Int {
        let share = Double(done.load(ordering: .relaxed)) / Double(total)
        return Int(Double(whole) * min(1, share))
    }
}
