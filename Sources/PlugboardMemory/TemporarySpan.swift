// Memory that lasts for one call.
//
// Why the raw memory is safe: all of it is written before it is lent, it stays until the call returns,
// and a span can't outlive the call.

/// Lends `count` elements to `body`, each of them `initial` at first. Up to about a kilobyte is on the
/// stack, more is on the heap.
@inlinable
public func withTemporarySpan<Element: BitwiseCopyable, Result>(
    of initial: Element, count: Int, _ body: (inout MutableSpan<Element>) -> Result
) -> Result {
    unsafe withUnsafeTemporaryAllocation(of: Element.self, capacity: count) { memory in
        unsafe memory.initialize(repeating: initial)
        var span = unsafe MutableSpan(_unsafeElements: memory)
        return body(&span)
    }
}
