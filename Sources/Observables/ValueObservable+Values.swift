// Values as an asynchronous sequence. The stream owns its observation: it ends with the task
// that iterates, and the stream ends with the observable.

extension ValueObservable {
    /// The current value and every later one, for `for await`. See ``values(buffering:)``.
    public var values: AsyncStream<Value> { values() }

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
    public func values(
        buffering policy: AsyncStream<Value>.Continuation.BufferingPolicy = .bufferingNewest(1)
    ) -> AsyncStream<Value> {
        AsyncStream(bufferingPolicy: policy) { continuation in
            let ending = StreamEnding(continuation)
            let observation = observe(initial: true) { change in ending.continuation.yield(change.new) }
            continuation.onTermination = { _ in observation.dispose() }
        }
    }
}

/// Finishes a stream when the observer that feeds it is released, be it that it was removed or
/// that the observable is gone: nothing can come any more.
final class StreamEnding<Element: Sendable>: Sendable {
    let continuation: AsyncStream<Element>.Continuation

    init(_ continuation: AsyncStream<Element>.Continuation) {
        self.continuation = continuation
    }

    deinit { continuation.finish() }
}
