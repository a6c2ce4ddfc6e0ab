// How an observation feeds a stream, for all that can be read by `for await`. The stream owns the
// observation: that ends with the loop or its task, and the stream ends when nothing can come.

extension AsyncStream where Element: Sendable {
    /// A stream of what an observer is called with.
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

/// Finishes a stream when whoever feeds it lets go: the observer was removed, or the observable
/// is gone.
final class StreamSource<Element: Sendable>: Sendable {
    let continuation: AsyncStream<Element>.Continuation

    init(_ continuation: AsyncStream<Element>.Continuation) {
        self.continuation = continuation
    }

    deinit { continuation.finish() }
}
