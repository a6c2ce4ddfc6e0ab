// How far a snapshot is that is made beside the loop, for the loop to see.

import Synchronization

/// Counts the bytes that were read and written for a snapshot.
final class CompactionProgress: Sendable {
    private let total: Int
    private let done = Atomic<Int>(0)
    private let ended = Atomic<Bool>(false)

    /// `total` is about what they will come to.
    init(total: Int) {
        self.total = max(1, total)
    }

    func add(_ bytes: Int) {
        done.wrappingAdd(bytes, ordering: .relaxed)
    }

    func end() {
        ended.store(true, ordering: .relaxed)
    }

    /// The snapshot is there, or has failed.
    var isOver: Bool { ended.load(ordering: .relaxed) }

    /// As much of the whole as is done of the snapshot.
    func part(of whole: Int) -> Int {
        let share = Double(done.load(ordering: .relaxed)) / Double(total)
        return Int(Double(whole) * min(1, share))
    }
}
