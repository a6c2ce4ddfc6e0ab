// Turns an observation into a stream for `for await`. The stream owns the observation, which ends with the
// loop or its task. The stream ends when no further value can come.

extension AsyncStream where Element: Sendable {
    /// A stream of the arguments of an observer's calls.
    @inlinable
    static func fed(
        buffering policy: Continuation.BufferingPolicy,
        by observe: (@escaping @Sendable (Element) -> Void) -> Disposable
    ) -> AsyncStream {
        AsyncStream(bufferingPolicy: policy) { continuation in
            let source = StreamSource(continuation)
            let observation = observe { source.continuation.yield($0) }
            continuation.onTermination = { _ in observation.dispose() }
        }
    }
}

/// Finishes a stream when its source releases it, because the observer was removed or the observable is gone.
@usableFromInline
final class StreamSource<Element: Sendable>: Sendable {
    @usableFromInline let continuation: AsyncStream<Element>.Continuation

    @inlinable
    init(_ continuation: AsyncStream<Element>.Continuation) {
        self.continuation = continuation
    }

    @inlinable deinit { continuation.finish() }
}
