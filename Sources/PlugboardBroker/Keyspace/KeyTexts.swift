// What events, replies and the journal tell of a key. The texts are lent by the keyspace.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

extension EventTail {
    /// A key's value as events and replies show it. In a snapshot it also says whether the writer is still
    /// connected.
    @_lifetime(borrow keyspace)
    init(_ observable: ObservableHandle, _ keyspace: borrowing Keyspace, isInitial: Bool) {
        let by = keyspace.authors.by(keyspace.observables.all[observable].writer)
        self = keyspace.observables.all[observable].tail(by)
        self.isInitial = isInitial
        if isInitial { live = keyspace.isLive(observable) }
    }

    /// All that an event about the next write tells.
    @inline(__always)
    @_lifetime(borrow keyspace, copy news)
    init(_ news: borrowing News, _ keyspace: borrowing Keyspace) {
        let by = keyspace.authors.by(news.author)
        self = keyspace.observables.all[news.observable].tail(of: news, by: by)
    }
}

extension Commit {
    /// The write that made a key's value.
    @_lifetime(borrow keyspace)
    init(_ observable: ObservableHandle, _ keyspace: borrowing Keyspace) {
        self.init(
            key: keyspace.observables.all[observable].key,
            revision: keyspace.observables.all[observable].revision,
            value: keyspace.observables.all[observable].value,
            by: keyspace.authors.recorded(keyspace.observables.all[observable].writer),
            cause: keyspace.observables.all[observable].cause,
            reason: keyspace.observables.all[observable].marks.reason
        )
    }
}
