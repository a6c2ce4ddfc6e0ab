// All observers of one observable, ordinary ones and those of its keys. The observable owns it.
// Invariants: a notification works on a snapshot, so adding and removing never wait for it. No
// observer is touched under the lock. A notification removes the dead observers that it meets;
// additions remove them, too, so that they can't pile up without notifications.

import Synchronization

/// Registers observers by key; those without a key, under nil, are the ordinary ones.
final class ObserverRegistry<Object: AnyObject>: Sendable {
    typealias Key = ObservedKey?

    fileprivate struct State {
        var tables: [Key: ObserverTable<Object>] = [:]
        /// Registrations added since the last search for dead ones, and how many may be added
        /// before the next search: as many as were left then. So the search costs each addition a
        /// constant.
        var added = 0
        var addedMax = ObserverRegistry.addedMin
    }

    private static var addedMin: Int { 64 }

    private let state = Mutex(State())
    let reads = PublisherReads()
    /// Whether there has been a trace, and what it observes, which the first one made.
    let isTraced = Atomic(false)
    let traces = AtomicLazyReference<Notifier<ObserverTrace<PublisherNotification>>>()

    func add(
        _ observers: [Object],
        keys: [Key] = [nil],
        context: ObserverContext? = nil,
        options: ObserverOptions = ObserverOptions(),
        isolation: (any Actor)? = nil
    ) {
        let additions = keys.map { key -> (key: Key, registrations: [Registration<Object>]) in
            let registrations = observers.map {
                Registration($0, context: context, options: options, isolation: isolation)
            }
            return (key: key, registrations: registrations)
        }
        let isPruningDue = state.withLock { state in
            for addition in additions {
                for registration in addition.registrations
                where state.tables[addition.key, default: ObserverTable()].add(registration) {
                    state.added += 1
                }
            }
            return state.added > state.addedMax
        }
        withExtendedLifetime(additions) {
            if isPruningDue { pruneEverywhere() }
        }
    }

    func remove(_ observers: [Object], keys: [Key] = [nil]) {
        let ids = observers.map { ObjectIdentifier($0) }
        let dropped = state.withLock { state in
            var dropped: [Dropped] = []
            for key in keys {
                dropped.append(state.change(key) { table in ids.flatMap { table.remove($0) } })
            }
            return dropped
        }
        withExtendedLifetime(dropped) {}
    }

    /// Calls `body` with every living observer, in the order of their phases and additions. Observers
    /// removed meanwhile are left out. Observers added meanwhile come next time.
    func forEach(key: Key = nil, _ body: (Registration<Object>, Object) -> Void) {
        var isAnyGone = false
        for registration in registrations(key) {
            if let observer = registration.live {
                body(registration, observer)
            } else {
                isAnyGone = true
            }
        }
        if isAnyGone { compact(key) }
    }

    /// How many living observers there are.
    func count(key: Key = nil) -> Int {
        registrations(key).count { $0.live != nil }
    }

    /// How many registrations are kept, the dead included that no one has met yet.
    var registrationCount: Int {
        state.withLock { $0.tables.values.reduce(0) { $0 + $1.registrations.count } }
    }

    /// How many keys are kept, nil included.
    var keyCount: Int { state.withLock { $0.tables.count } }

    private func registrations(_ key: Key) -> [Registration<Object>] {
        state.withLock { $0.tables[key]?.registrations ?? [] }
    }

    private func compact(_ key: Key) {
        let dropped = state.withLock { $0.change(key) { $0.compact() } }
        withExtendedLifetime(dropped) {}
    }

    private func pruneEverywhere() {
        let tables = state.withLock { state in
            state.added = 0
            return state.tables
        }
        for (key, table) in tables {
            let dead = table.registrations.filter { $0.live == nil }
            if !dead.isEmpty { compact(key) }
        }
        let left = registrationCount
        state.withLock { $0.addedMax = max(Self.addedMin, left) }
    }
}

extension ObserverRegistry {
    /// What is to be released outside of the lock.
    fileprivate struct Dropped {
        let registrations: [Registration<Object>]
        let entry: (Key, ObserverTable<Object>)?
    }
}

extension ObserverRegistry.State {
    /// Changes the table of a key, and forgets the key when no one is left.
    fileprivate mutating func change(
        _ key: ObserverRegistry.Key, _ body: (inout ObserverTable<Object>) -> [Registration<Object>]
    ) -> ObserverRegistry.Dropped {
        guard let index = tables.index(forKey: key) else {
            return ObserverRegistry.Dropped(registrations: [], entry: nil)
        }
        let dropped = body(&tables.values[index])
        let entry = tables.values[index].isEmpty ? tables.remove(at: index) : nil
        return ObserverRegistry.Dropped(registrations: dropped, entry: entry)
    }
}
