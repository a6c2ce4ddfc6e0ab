// Up to which revision a subscription knows everything, so that it can resume on another connection and
// gets nothing twice. Revisions never decrease within a subscription, so everything before the newest one
// is known. The events of a batch share a revision. So this also keeps the keys that came with the newest
// revision.

/// The place at which a subscription resumes. Not shared between threads.
public struct ResumePlace: Sendable {
    /// Everything up to this revision has come; nil if nothing is known.
    public private(set) var revision: UInt64?
    /// The epoch of `revision`.
    public private(set) var epoch = ""
    /// The epoch of the present connection.
    private var presentEpoch = ""
    private var newest: UInt64 = 0
    /// The keys that came with the newest revision.
    private var keys: [String] = []
    /// Whether the snapshot is still coming. Before `synced`, nothing is known.
    private var isInSnapshot = false
    /// Whether keys of the newest revision may come again.
    private var mayRepeat = false
    /// Keys that came before the connection broke, with the newest revision. The first `skipped` for such
    /// a key counts that write again.
    private var counted: Set<String> = []

    public init() {}

    /// Call it when a broker has accepted the subscription, with the revision of the reply.
    public mutating func begin(epoch: String, revision: UInt64, isResumed: Bool, hasSnapshot: Bool) {
        presentEpoch = epoch
        isInSnapshot = hasSnapshot && !isResumed
        mayRepeat = isResumed
        counted = isResumed ? Set(keys) : []
        if isResumed { return }
        (newest, keys) = (hasSnapshot ? 0 : revision, [])
        if !hasSnapshot { know(revision) }
    }

    /// Notes an `update`, `delete` or `leave`. Returns false if it came already, before the connection
    /// broke.
    public mutating func isNews(key: String, revision: UInt64) -> Bool {
        advance(to: revision)
        if mayRepeat, revision == newest, keys.contains(key) { return false }
        keys.append(key)
        return true
    }

    /// The number of writes that an event really skipped. `count` is its `skipped`, which may count a
    /// write that came before the connection broke.
    public mutating func skipped(_ count: UInt64, key: String) -> UInt64 {
        count > 0 && counted.remove(key) != nil ? count - 1 : count
    }

    /// Notes the revision of any other event, such as an `emit`.
    public mutating func advance(to revision: UInt64) {
        guard revision > newest else { return }
        newest = revision
        keys.removeAll(keepingCapacity: true)
        mayRepeat = false
        if !isInSnapshot, self.revision != nil { self.revision = revision - 1 }
    }

    /// Notes `synced`. If its revision is that of the line before, more lines of this revision may
    /// follow.
    public mutating func finish(at revision: UInt64) {
        let isAll = revision > newest
        if isAll { (newest, keys) = (revision, []) }
        (isInSnapshot, mayRepeat) = (false, false)
        know(isAll ? revision : max(newest, 1) - 1)
    }

    private mutating func know(_ revision: UInt64) {
        (self.revision, epoch) = (revision, presentEpoch)
    }
}
