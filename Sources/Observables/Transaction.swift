// Several values changed in one step. The function that runs the transaction owns its notes. Invariant:
// nobody sees some of its changes without the others.

/// Changes several values in one step, then notifies the observers. No observer is called, and no other
/// thread reads a new value, before all values are new. On the bus, the same is `Bus.batch`.
///
/// ```swift
/// struct Overdrawn: Error {}
///
/// let (savings, wallet) = (ObservableValue(100), ObservableValue(0))
/// let observation = wallet.observe { change in print(change.new, "of", change.new + savings.value) }
/// try transaction { values throws(Overdrawn) in
///     if values[savings] < 40 { throw Overdrawn() }
///     values[savings] -= 40
///     values[wallet] += 40
/// }  // 40 of 100
/// observation.dispose()
/// ```
/// Inside, read and change the values through the argument: it shows the transaction's own changes and what
/// there was before. If `body` throws, nothing has changed and no one is notified.
///
/// **Other threads.** If another thread changes a value that was read, `body` runs again from the start,
/// because what it did may be wrong. So it should have no effects but its changes; give others to
/// ``Transaction/afterwards(_:)``. After ``Transaction/attemptsMax`` attempts, changes by other threads wait
/// for this one.
///
/// **Nested.** A transaction within `body` is a part of the outer one: its changes are made with the others.
/// If it throws and `body` goes on, only its own changes are dropped.
///
/// **Order.** The observers of each value are told in the order in which the transaction first changed the
/// values, each once, with the last value. What `body` changes directly, without the argument, is no part of
/// the transaction; it may be overwritten.
@discardableResult
public func transaction<Result, Failure: Error>(
    _ body: (inout Transaction) throws(Failure) -> Result
) throws(Failure) -> Result {
    if let outer = TransactionNotes.current, outer.isOpenHere { return try nested(in: outer, body) }
    let notes = TransactionNotes()
    defer { notes.end() }
    while true {
        notes.begin()
        // A task-local value takes no typed errors.
        let outcome: Swift.Result<Result, Failure> = TransactionNotes.$current.withValue(notes) {
            var transaction = Transaction(notes)
            do throws(Failure) {
                return .success(try body(&transaction))
            } catch {
                return .failure(error)
            }
        }
        guard case .success(let result) = outcome else { return try outcome.get() }
        if notes.commit() { return result }
    }
}

private func nested<Result, Failure: Error>(
    in notes: TransactionNotes, _ body: (inout Transaction) throws(Failure) -> Result
) throws(Failure) -> Result {
    let before = notes.content
    var transaction = Transaction(notes)
    do throws(Failure) {
        return try body(&transaction)
    } catch {
        notes.content.takeBack(to: before)
        throw error
    }
}

/// The values of a transaction, as its `body` sees them.
public struct Transaction: ~Copyable {
    /// After how many attempts other threads have to wait with their changes.
    public static let attemptsMax = 16

    private let notes: TransactionNotes

    fileprivate init(_ notes: TransactionNotes) {
        self.notes = notes
    }

    /// The value as it is within the transaction.
    public subscript<Value>(_ observable: ObservableValue<Value>) -> Value {
        get { notes.entry(of: observable).value }
        set { notes.set(observable, newValue) }
    }

    /// Calls `body` after the end, before the observers, if the transaction doesn't fail: for events of a
    /// ``Notifier``, keyed notifications and other effects. Several are called in order.
    public mutating func afterwards(_ body: @escaping () -> Void) {
        notes.content.afterwards.append(body)
    }
}
