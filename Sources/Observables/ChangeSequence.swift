// Changes and pairs of values as asynchronous sequences, each for one loop. A sequence doesn't keep what it
// observes, and ends with it. What it hasn't read yet folds, so that a slow loop costs no memory.

import Synchronization

/// The changes of a value, or of a part of it; see ``ValueObservable/changes(options:)``.
public struct ChangeSequence<Value: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Change<Value>
    public typealias Failure = Never

    fileprivate let ticks: AsyncStream<Void>
    fileprivate let unread: UnreadChanges<Value>

    public func makeAsyncIterator() -> Iterator {
        Iterator(ticks: ticks.makeAsyncIterator(), unread: unread)
    }

    /// Reads the changes.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var ticks: AsyncStream<Void>.Iterator
        fileprivate let unread: UnreadChanges<Value>

        public mutating func next() async -> Change<Value>? {
            await next(isolation: #isolation)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Change<Value>? {
            while true {
                if let change = unread.take() { return change }
                if await ticks.next(isolation: actor) == nil { return unread.take() }
            }
        }
    }
}

/// Changes that the loop has yet to read.
private final class UnreadChanges<Value: Sendable>: Sendable {
    private let queue: Mutex<GateQueue<Change<Value>>>
    private let rules: ObserverGate<Change<Value>>.Rules
    private let options: ObserverOptions

    init(_ options: ObserverOptions, _ rules: ObserverGate<Change<Value>>.Rules) {
        self.options = options
        self.rules = rules
        let folds = options.delivery == .latest
        queue = Mutex(
            GateQueue(interval: nil, most: folds ? 1 : max(1, options.waitingMax), keepsAll: !folds)
        )
    }

    func add(_ change: Change<Value>) {
        let (isLagging, rest) = queue.withLock { queue in
            let rest = queue.foldable
            return (queue.add(change, true, rules.fold), rest)
        }
        withExtendedLifetime(rest) {}
        if isLagging { options.control?.noteLagged() }
    }

    func take() -> Change<Value>? {
        while let change = queue.withLock({ $0.next(ContinuousClock.now, isPaused: false) }) {
            if rules.isNews?(change) ?? true { return change }
        }
        return nil
    }
}

extension ValueObservable {
    /// Every change from now on, for one `for await` loop.
    ///
    /// ```swift
    /// func log(_ price: ObservableValue<Int>) async {
    ///     for await change in price.changes() {
    ///         print(change.old ?? 0, "→", change.new)
    ///     }
    /// }
    /// ```
    /// Changes that come faster than the loop reads them fold into one, unless the options say
    /// `delivery: .all`; so each `old` is the `new` that the loop got before. The sequence ends with the
    /// value, and when its task is cancelled.
    public func changes(options: ObserverOptions = ObserverOptions()) -> ChangeSequence<Value> {
        changes(options, Change.rules(where: nil)) { observe(initial: false, options: options, $0) }
    }

    /// Every change of one part.
    ///
    /// ```swift
    /// func count(_ names: ObservableValue<[String]>) async {
    ///     for await change in names.changes(\.count) {
    ///         print(change.new, "names")
    ///     }
    /// }
    /// ```
    public func changes<Part: Equatable & Sendable>(
        _ part: any KeyPath<Value, Part> & Sendable, options: ObserverOptions = ObserverOptions()
    ) -> ChangeSequence<Part> {
        changes(options, Change.rules(isNews: { $0.old != $0.new }, where: nil)) {
            observe(part, initial: false, options: options, $0)
        }
    }

    /// The current value of one part and those that follow, without repeats; otherwise as
    /// ``values(buffering:)``.
    public func values<Part: Equatable & Sendable>(
        _ part: any KeyPath<Value, Part> & Sendable,
        buffering policy: AsyncStream<Part>.Continuation.BufferingPolicy = .bufferingNewest(1)
    ) -> AsyncStream<Part> {
        .fed(buffering: policy) { yield in observe(part, initial: true) { yield($0.new) } }
    }

    private func changes<Part: Sendable>(
        _ options: ObserverOptions,
        _ rules: ObserverGate<Change<Part>>.Rules,
        by observe: (@escaping @Sendable (Change<Part>) -> Void) -> Disposable
    ) -> ChangeSequence<Part> {
        let unread = UnreadChanges(options, rules)
        let ticks = AsyncStream<Void>.fed(buffering: .bufferingNewest(1)) { yield in
            observe { change in
                unread.add(change)
                yield(())
            }
        }
        return ChangeSequence(ticks: ticks, unread: unread)
    }
}

/// The current values of two observables, and both again after each change of either, for one loop.
///
/// ```swift
/// func total(_ price: ObservableValue<Int>, _ pieces: ObservableValue<Int>) async {
///     for await (price, pieces) in combineLatest(price, pieces) {
///         print("total:", price * pieces)
///     }
/// }
/// ```
/// It always gives the values as they are when the loop asks for them. A ``transaction(_:)`` is never seen
/// half. The sequence doesn't keep the observables. It ends with either of them, and when its task is
/// cancelled.
public func combineLatest<First: ValueObservable, Second: ValueObservable>(
    _ first: First, _ second: Second
) -> LatestPairs<First, Second> {
    let (ticks, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    continuation.yield(())
    let observations = [ticking(first, continuation), ticking(second, continuation)]
    continuation.onTermination = { _ in
        for observation in observations { observation.dispose() }
    }
    return LatestPairs(ticks: ticks, first: first, second: second)
}

/// Each has a source of its own, so that the end of one is the end of the stream.
private func ticking(
    _ observable: some ValueObservable, _ continuation: AsyncStream<Void>.Continuation
) -> Disposable {
    let source = StreamSource(continuation)
    return observable.observe { _ in source.continuation.yield(()) }
}

/// The newest values of two observables; see ``combineLatest(_:_:)``.
public struct LatestPairs<First: ValueObservable, Second: ValueObservable>: AsyncSequence, Sendable {
    public typealias Element = (First.Value, Second.Value)
    public typealias Failure = Never

    fileprivate let ticks: AsyncStream<Void>
    fileprivate weak let first: First?
    fileprivate weak let second: Second?

    public func makeAsyncIterator() -> Iterator {
        Iterator(ticks: ticks.makeAsyncIterator(), pairs: self)
    }

    /// Reads the pairs.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var ticks: AsyncStream<Void>.Iterator
        fileprivate let pairs: LatestPairs

        public mutating func next() async -> Element? {
            await next(isolation: #isolation)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            guard await ticks.next(isolation: actor) != nil else { return nil }
            return pairs.current
        }
    }

    /// Nil if one is gone.
    private var current: Element? {
        guard let first, let second else { return nil }
        if let first = first as? ObservableValue<First.Value>,
            let second = second as? ObservableValue<Second.Value>
        {
            return transaction { values in (values[first], values[second]) }
        }
        return (first.value, second.value)
    }
}
