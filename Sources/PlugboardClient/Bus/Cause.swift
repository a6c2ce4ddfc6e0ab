// The event that the running code handles, so that its writes name their cause without being told. An
// event is the cause only inside the callback or the `causing` that handles it, and in tasks that are
// begun there.

/// The cause that writes name by default. `why` follows it from a value to its origin.
///
/// While a callback of `Bus.subscribe`, a handler of `Bus.serve` or an observer of a ``RemoteObservable`` runs,
/// every write without a `cause` of its own names the revision of the event or the call. That holds for writes that are awaited, pipelined, in
/// a batch or through a remote observable, and in a `Task { }` that is begun there. It doesn't hold in a
/// detached task, or on another queue or thread.
///
/// A `for await` loop is not a callback: use `Event.causing` in its body. `Subscription.forEach` does
/// that for its body. A write with `cause: nil` names none, and neither does any write within
/// `Cause.$current.withValue(nil) { … }`.
public enum Cause {
    /// The revision of the event that is being handled; nil if there is none.
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

    /// Runs `body`. Writes in it name this event as their cause.
    ///
    /// ```swift
    /// for try await event in try await bus.subscribe("cart.items") {
    ///     try await event.causing { try await bus.publish("cart.seen", true) }
    /// }
    /// ```
    @discardableResult
    public func causing<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await Cause.$current.withValue(asCause, operation: body, isolation: isolation)
    }

    /// The same for work that doesn't wait.
    @discardableResult
    func causing<Result>(now body: () throws -> Result) rethrows -> Result {
        try Cause.$current.withValue(asCause, operation: body)
    }
}
