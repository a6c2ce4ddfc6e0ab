// What a transaction has read and changed. Only its thread uses it. Invariants: while code of the user runs,
// no value is taken out; after too many attempts, values are lent to it, which others can read; it never
// waits for a value while it holds another.

/// The notes of a transaction, over all of its attempts.
final class TransactionNotes: @unchecked Sendable {
    @TaskLocal static var current: TransactionNotes?

    /// What a nested transaction that fails takes back.
    struct Content {
        var entries: [ObjectIdentifier: any TransactionEntry] = [:]
        /// The values that were changed, in order.
        var changed: [ObjectIdentifier] = []
        var afterwards: [() -> Void] = []

        /// Forgets changes, but not what was read, because the code that goes on may know it.
        mutating func takeBack(to before: Content) {
            for (id, entry) in entries { entries[id] = before.entries[id] ?? entry.unchanged }
            (changed, afterwards) = (before.changed, before.afterwards)
        }
    }

    var content = Content()
    private let thread = SystemThread.currentIdentity
    private(set) var attempts = 0
    private var isOver = false
    /// The values that are lent to this transaction during an attempt, since earlier ones have failed.
    private var lent: [ObjectIdentifier: any TransactionEntry] = [:]
    /// Whether it has them. Otherwise other threads may have changed them.
    private var isHolding = false

    /// Whether this is the thread of a transaction that isn't over. Tasks inherit it, and may outlive it.
    var isOpenHere: Bool { thread == SystemThread.currentIdentity && !isOver }

    /// Begins an attempt. After too many, the values that were used are lent to it.
    func begin() {
        let used = content.entries
        content = Content()
        attempts += 1
        if attempts > Transaction.attemptsMax { borrow(used.merging(lent) { entry, _ in entry }) }
    }

    func end() {
        isOver = true
        giveBack()
        lent = [:]
    }

    func entry<Value>(of observable: ObservableValue<Value>) -> ValueEntry<Value> {
        let id = ObjectIdentifier(observable)
        if let known = content.entries[id] as? ValueEntry<Value> { return known }
        while true {
            if let entry = ValueEntry(reading: observable) {
                content.entries[id] = entry
                return entry
            }
            // Whoever changes it may wait for what is held here.
            giveBack()
            observable.observers.waitUntilThere()
        }
    }

    func set<Value>(_ observable: ObservableValue<Value>, _ value: Value) {
        let id = ObjectIdentifier(observable)
        var entry = entry(of: observable)
        if !entry.isChanged { content.changed.append(id) }
        entry.value = value
        content.entries[id] = entry
    }

    /// Makes the changes, if nothing that was read has changed, and notifies. Returns false if it has.
    func commit() -> Bool {
        var entries = content.entries
        while true {
            switch takeAll(&entries) {
            case .taken:
                finish(entries)
                return true
            case .changed:
                giveBack()
                return false
            case .busy:
                // Those that were lent may have changed meanwhile.
                if !lent.isEmpty { return false }
            }
        }
    }

    /// Takes all values out, or none. If one is busy, waits for it.
    private func takeAll(_ entries: inout [ObjectIdentifier: any TransactionEntry]) -> TakeResult {
        var taken: [ObjectIdentifier] = []
        for id in entries.keys {
            guard let result = entries[id]?.take(ifUnchanged: !isHolding || lent[id] == nil), result != .taken
            else {
                taken.append(id)
                continue
            }
            for id in taken { entries[id]?.giveBack() }
            if result == .busy {
                giveBack()
                entries[id]?.waitUntilThere()
            }
            return result
        }
        return .taken
    }

    private func finish(_ entries: [ObjectIdentifier: any TransactionEntry]) {
        isOver = true
        let deliveries = content.changed.compactMap { entries[$0]?.putBack() }
        for entry in entries.values where !entry.isChanged { entry.giveBack() }
        giveBack()
        for body in content.afterwards { body() }
        for deliver in deliveries { deliver() }
    }

    /// Has all of these lent to it. Waits only while it has none.
    private func borrow(_ wanted: [ObjectIdentifier: any TransactionEntry]) {
        giveBack()
        lent = wanted
        while true {
            var borrowed: [any TransactionEntry] = []
            guard
                let busy = wanted.values.first(where: { entry in
                    guard entry.lend() else { return true }
                    borrowed.append(entry)
                    return false
                })
            else {
                isHolding = true
                return
            }
            for entry in borrowed { entry.giveBack() }
            busy.waitUntilThere()
        }
    }

    /// Lets go of what is lent to it. It stays noted, so that the next attempt borrows it again.
    private func giveBack() {
        isHolding = false
        for entry in lent.values { entry.giveBack() }
    }
}
