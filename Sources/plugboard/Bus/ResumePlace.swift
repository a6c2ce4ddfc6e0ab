// Up to which revision a subscription knows everything. It resumes there on another connection, and
// nothing comes twice. Revisions never decrease within a subscription, so everything before the
// newest is known. The events of a batch share a revision, so for the newest one it keeps the keys
// that came.

/// Where a subscription goes on.
struct ResumePlace {
    /// Everything up to it has come; nil while nothing is known.
    private(set) var revision: UInt64?
    /// The life of the revision counter that it belongs to.
    private(set) var epoch = ""
    private var newest: UInt64 = 0
    /// The keys that came with the newest revision.
    private var keys: [String] = []
    /// The snapshot is on its way: nothing is known before `synced`.
    private var isInSnapshot = false
    /// Keys of the newest revision may come once more.
    private var mayRepeat = false
    /// Of these keys one write that was told is counted once more by the first `skipped`.
    private var counted: Set<String> = []

    /// A broker agreed to the subscription, at a revision.
    mutating func begin(epoch: String, revision: UInt64, isResumed: Bool, hasSnapshot: Bool) {
        isInSnapshot = hasSnapshot && !isResumed
        mayRepeat = isResumed
        self.epoch = epoch
        counted = isResumed ? Set(keys) : []
        if isResumed { return }
        (newest, keys) = (hasSnapshot ? 0 : revision, [])
        self.revision = hasSnapshot ? nil : revision
    }

    /// Notes an event; false if it came before the connection broke.
    mutating func isNews(_ event: String, key: String?, revision: UInt64) -> Bool {
        switch event {
        case "synced": finish(at: revision)
        case "emit": advance(to: revision)
        case "update", "delete", "leave":
            advance(to: revision)
            guard let key else { return true }
            if mayRepeat, revision == newest, keys.contains(key) { return false }
            keys.append(key)
        default: break
        }
        return true
    }

    /// How many of the writes before it an event stands for, of those that `skipped` counts.
    mutating func skipped(_ count: UInt64, key: String?) -> UInt64 {
        guard count > 0, let key, counted.remove(key) != nil else { return count }
        return count - 1
    }

    private mutating func advance(to revision: UInt64) {
        guard revision > newest else { return }
        newest = revision
        keys.removeAll(keepingCapacity: true)
        mayRepeat = false
        if !isInSnapshot, self.revision != nil { self.revision = revision - 1 }
    }

    /// `synced` has the revision of the line before it if more of the same is on its way.
    private mutating func finish(at revision: UInt64) {
        let isAll = revision > newest
        if isAll { (newest, keys) = (revision, []) }
        (isInSnapshot, mayRepeat) = (false, false)
        self.revision = isAll ? revision : max(newest, 1) - 1
    }
}
