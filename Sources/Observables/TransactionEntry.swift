// One value in a transaction: what was read of it, and what it becomes.

/// A value of any type.
protocol TransactionEntry {
    var isChanged: Bool { get }
    /// The same without the change.
    var unchanged: Self { get }
    /// Whether somebody else has the value at present: then wait for it, holding nothing.
    func waitUntilThere()
    func lend() -> Bool
    mutating func take(ifUnchanged: Bool) -> TakeResult
    func giveBack()
    /// Ends the taking with the new value. Returns what notifies the observers.
    func putBack() -> () -> Void
}

struct ValueEntry<Value: Sendable>: TransactionEntry {
    var value: Value {
        didSet { isChanged = true }
    }
    private(set) var isChanged = false
    private let observable: ObservableValue<Value>
    private let original: Value
    private let changes: Int
    private var taken: Value?

    /// Nil if the value isn't there.
    init?(reading observable: ObservableValue<Value>) {
        guard let noted = observable.observers.noted else { return nil }
        self.observable = observable
        (value, original, changes) = (noted.kept, noted.kept, noted.changes)
    }

    var unchanged: ValueEntry {
        var entry = self
        entry.value = original
        entry.isChanged = false
        return entry
    }

    func waitUntilThere() { observable.observers.waitUntilThere() }

    func lend() -> Bool { observable.observers.lend() }

    mutating func take(ifUnchanged: Bool) -> TakeResult {
        let (result, kept) = observable.observers.take(ifAt: ifUnchanged ? changes : nil)
        taken = kept
        return result
    }

    func giveBack() { observable.observers.giveBack(taken) }

    func putBack() -> () -> Void {
        guard isChanged else {
            giveBack()
            return {}
        }
        let (observable, old) = (observable, taken)
        let delivery = observable.observers.putBack(value) { Change(old: old, new: $0) }
        return { observable.notify(delivery) }
    }
}
