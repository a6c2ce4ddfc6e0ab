// Up to which revision a subscription knows everything. A later connection resumes there, and skips
// what came before. Revisions never decrease within a subscription, so everything before the newest
// is known. A batch's events share a revision, so for the newest one it keeps the keys that came.

import Synchronization

/// Where a subscription goes on. Only the bus's thread uses it; the lock is for the compiler.
final class ResumePoint: Sendable {
    /// A revision, and the life of the revision counter that it belongs to.
    struct Place: Sendable, Equatable {
        var revision: Int
        var epoch: String
    }

    fileprivate struct State {
        /// Everything up to it has come.
        var place: Place?
        /// Of this connection.
        var epoch = ""
        var newest = 0
        /// The keys that came with the newest revision.
        var keys: [String] = []
        /// The snapshot is on its way, so nothing is known before `synced`.
        var isInSnapshot = false
        /// Keys of the newest revision may come once more.
        var mayRepeat = false
        /// Of these keys one write that was told is counted once more by the first `skipped`.
        var counted: Set<String> = []
    }

    private let state = Mutex(State())

    /// Nil: nothing is known yet.
    var place: Place? { state.withLock { $0.place } }

    /// A broker agreed to the subscription, at a revision.
    func begin(epoch: String, revision: Int, isResumed: Bool, hasSnapshot: Bool) {
        state.withLock { state in
            // Events of another epoch say nothing about this one's revisions.
            if epoch != state.epoch { state.forgetNewest() }
            state.epoch = epoch
            state.mayRepeat = isResumed
            state.isInSnapshot = hasSnapshot && !isResumed
            state.counted = isResumed ? Set(state.keys) : []
            if isResumed { return }
            state.forgetNewest()
            if !hasSnapshot {
                state.newest = revision
                state.place = Place(revision: revision, epoch: epoch)
            }
        }
    }

    /// Notes an event. Returns what is new of it; nil if it came before the connection broke.
    func news(of event: Event) -> Event? {
        guard isNews(event) else { return nil }
        var event = event
        if event.skipped > 0, state.withLock({ $0.counted.remove(event.key) != nil }) { event.skipped -= 1 }
        return event
    }

    /// Notes an event; false if it came before the connection broke.
    func isNews(_ event: Event) -> Bool {
        state.withLock { state in
            switch event.kind {
            case .synced: state.finish(at: event.revision)
            case .emit: state.advance(to: event.revision)
            case .update, .delete, .leave:
                state.advance(to: event.revision)
                if state.mayRepeat, event.revision == state.newest, state.keys.contains(event.key) {
                    return false
                }
                state.keys.append(event.key)
            case .lagged: break
            }
            return true
        }
    }
}

extension ResumePoint.State {
    fileprivate mutating func forgetNewest() {
        newest = 0
        keys = []
    }

    fileprivate mutating func advance(to revision: Int) {
        guard revision > newest else { return }
        newest = revision
        keys.removeAll(keepingCapacity: true)
        mayRepeat = false
        if !isInSnapshot { place?.revision = revision - 1 }
    }

    /// `synced` has the revision of the line before it if more is on its way.
    fileprivate mutating func finish(at revision: Int) {
        let isAll = revision > newest
        if isAll {
            newest = revision
            keys = []
        }
        isInSnapshot = false
        mayRepeat = false
        place = ResumePoint.Place(revision: isAll ? revision : newest - 1, epoch: epoch)
    }
}
