// What events, replies and the journal tell of a key. The texts are lent by the keyspace.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

extension EventTail {
    /// A key's value as events and replies show it. In a snapshot it also says whether the writer is still
    /// connected.
    @_lifetime(borrow keyspace)
    init(_ observable: ObservableHandle, _ keyspace: borrowing Keyspace, isInitial: Bool) {
        self.init(
            key: keyspace.observables.all[observable].key,
            revision: keyspace.observables.all[observable].revision,
            value: keyspace.observables.value(of: observable),
            old: Span(),
            by: keyspace.authors.by(keyspace.writer(of: observable)),
            cause: keyspace.observables.cause(of: observable),
            reason: keyspace.observables.marks(of: observable).reason
        )
        self.isInitial = isInitial
        if isInitial { live = keyspace.isLive(observable) }
    }

    /// All that an event about the next write tells.
    @inline(__always)
    @_lifetime(borrow keyspace, copy news)
    init(_ news: borrowing News, _ keyspace: borrowing Keyspace) {
        self = news.tail(
            keyspace.observables.all[news.observable].key,
            old: keyspace.observables.value(of: news.observable),
            by: keyspace.authors.by(news.author)
        )
    }
}

extension Commit {
    /// The write that made a key's value.
    @_lifetime(borrow keyspace)
    init(_ observable: ObservableHandle, _ keyspace: borrowing Keyspace) {
        self.init(
            key: keyspace.observables.all[observable].key,
            revision: keyspace.observables.all[observable].revision,
            value: keyspace.observables.value(of: observable),
            by: keyspace.authors.recorded(keyspace.writer(of: observable)),
            cause: keyspace.observables.cause(of: observable),
            reason: keyspace.observables.marks(of: observable).reason
        )
    }
}
