// The event that the running code is handling, so that its writes can name their cause by
// themselves. Invariant: an event is the cause only inside the callback, or the `causing`, that
// handles it, and in tasks begun there.

/// The cause that writes name by themselves; `why` follows it from a value to its origin.
///
/// While a callback of `Bus.subscribe` or an observer of a ``RemoteObservable`` runs, every
/// write without a `cause` of its own names the event's revision: awaited, pipelined, in a
/// batch, through a remote observable, and in a `Task { }` begun there (not in a detached
/// one, nor on another queue or thread that the work is handed to).
///
/// A `for await` loop is not a callback: use `Event.causing` in its body. The body of
/// `Subscription.forEach` needs nothing. A write with `cause: nil` has none, and so has everything
/// within `Cause.$current.withValue(nil) { … }`.
public enum Cause {
    /// The revision of the event that is being handled; nil where none is.
    @TaskLocal public static var current: Int?
}

extension Event {
    /// The revision that a write caused by this event names. It is nil if no known write caused the
    /// event: for `synced`, `lagged`, and what the bus notices only after a reconnection.
    public var asCause: Int? {
        switch kind {
        case .update, .emit: revision
        case .delete, .leave: isInitial ? nil : revision
        case .synced, .lagged: nil
        }
    }

    /// Runs `body`, whose writes name this event as their cause by themselves.
    ///
    /// ```swift
    /// for try await event in try await bus.subscribe("cart.items") {
    ///     try await event.causing { try await bus.publish("cart.seen", true) }
    /// }
    /// ```
    @discardableResult
    public func causing<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await Cause.$current.withValue(asCause, operation: body, isolation: isolation)
    }

    /// The same for work that doesn't wait.
    @discardableResult
    func causing<Result>(now body: () throws -> Result) rethrows -> Result {
        try Cause.$current.withValue(asCause, operation: body)
    }
}
