// Up to where a subscription knows everything: what a later connection is told, so that it
// goes on there, and what is left out there because it was told before. Revisions never
// fall within a subscription, so all before the newest is known; of the newest itself, which
// a batch's events share, it is known which keys were told.

import Synchronization

/// Where a subscription goes on. Only the bus's thread uses it; the lock is for the compiler.
final class ResumePoint: Sendable {
    /// A revision, and the life of the revision counter that it belongs to.
    struct Place: Sendable, Equatable {
        var revision: Int
        var epoch: String
    }

    fileprivate struct State {
        /// Everything up to it was told.
        var place: Place?
        /// Of this connection.
        var epoch = ""
        var newest = 0
        /// The keys that were told with the newest revision.
        var keys: [String] = []
        /// The current values are being told, so that nothing is known before `synced`.
        var isInSnapshot = false
        /// Keys of the newest revision may be told once more.
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
            // What was told of another life says nothing of this one's revisions.
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

    /// Takes note of an event. Returns what is new of it; nil where all of it was told before the
    /// connection broke.
    func news(of event: Event) -> Event? {
        guard isNews(event) else { return nil }
        var event = event
        if event.skipped > 0, state.withLock({ $0.counted.remove(event.key) != nil }) { event.skipped -= 1 }
        return event
    }

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

    /// `synced` has the revision of the line before it where more is on its way.
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
