// How far a snapshot has got that another thread makes. The writer creates the counter together with the
// request. The other thread counts, and the loop reads. The count never falls.

import Synchronization

/// Counts the bytes that are read and written for a snapshot.
final class CompactionProgress: Sendable {
    private let total: Int
    private let done = Atomic<Int>(0)
    private let ended = Atomic<Bool>(false)

    /// `total` is an estimate of all bytes, read and written.
    init(total: Int) {
        self.total = max(1, total)
    }

    func add(_ bytes: Int) {
        done.wrappingAdd(bytes, ordering: .relaxed)
    }

    func end() {
        ended.store(true, ordering: .relaxed)
    }

    /// Whether the snapshot is finished or has failed.
    var isOver: Bool { ended.load(ordering: .relaxed) }

    /// `whole`, times the share of the work that is done.
    func part(of whole: Int) -> Int {
        let share = Double(done.load(ordering: .relaxed)) / Double(total)
        return Int(Double(whole) * min(1, share))
    }
}
