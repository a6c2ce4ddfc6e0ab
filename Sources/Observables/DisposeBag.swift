// Keeps several observations together. The observer owns it, usually in a stored property. Its observations
// end with it. It is a value: a copy keeps the same observations alive.

/// Several observations that last as long as the bag.
///
/// ```swift
/// struct Screen {
///     private var bag = DisposeBag()
///
///     mutating func show(_ name: ObservableValue<String>, _ age: ObservableValue<Int>) {
///         name.observe { change in print(change.new) }.add(to: &bag)
///         age.observe { change in print(change.new) }.add(to: &bag)
///     }
/// }
/// ```
public struct DisposeBag: Sendable {
    private var disposables: [Disposable] = []

    public init() {}

    public var isEmpty: Bool { disposables.isEmpty }

    public mutating func insert(_ disposable: Disposable) {
        disposables.append(disposable)
    }

    /// Ends every observation in the bag and empties it. New ones can be added afterwards.
    public mutating func dispose() {
        for disposable in disposables { disposable.dispose() }
        disposables = []
    }
}
