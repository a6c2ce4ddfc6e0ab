// The values of any ``ValueObservable`` as an asynchronous sequence.

extension ValueObservable {
    /// The current value and every later one, for `for await`. See ``values(buffering:)``.
    @inlinable public var values: AsyncStream<Value> { values() }

    /// The current value and those that follow, as a stream of its own for one loop.
    ///
    /// ```swift
    /// func show(_ price: ObservableValue<Int>) async {
    ///     for await value in price.values {
    ///         print("now", value)
    ///     }
    /// }
    /// ```
    /// The observer is removed when the loop ends, its task is cancelled or the stream is
    /// released. The stream doesn't keep the observable alive: it ends with it.
    ///
    /// - Parameter policy: what happens to values that come faster than they are read. By
    ///   default the newest wins: a slow reader skips values, never gets an outdated one, and
    ///   costs no memory. `.unbounded` keeps all of them.
    @inlinable
    public func values(
        buffering policy: AsyncStream<Value>.Continuation.BufferingPolicy = .bufferingNewest(1)
    ) -> AsyncStream<Value> {
        .fed(buffering: policy) { yield in observe(initial: true) { yield($0.new) } }
    }
}
