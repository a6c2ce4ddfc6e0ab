// Memory for the duration of one call, mostly on the stack.
//
// Why the raw memory is safe: all of it is written before it is lent, it stays until the call
// returns, and a span can't outlive the call.

/// Lends `count` elements that are `initial` at first. Up to about a kilobyte of them is on
/// the stack.
@inlinable
public func withTemporarySpan<Element: BitwiseCopyable, Result>(
    of initial: Element,
    count: Int,
    _ body: (inout MutableSpan<Element>) -> Result
) -> Result {
    unsafe withUnsafeTemporaryAllocation(of: Element.self, capacity: count) { memory in
        unsafe memory.initialize(repeating: initial)
        var span = unsafe MutableSpan(_unsafeElements: memory)
        return body(&span)
    }
}
