// One live subscription as the connection knows it: what is asked of the broker, now
// and after each reconnection, and who is told.

/// A subscription that the broker confirmed, or that is wanted whenever there is a broker.
final class Registration: Sendable {
    /// The number this client gave it, never used again.
    let sub: Int
    let patterns: [String]
    let options: SubscribeOptions
    /// Whether an event is dealt with when its callback has returned.
    let acknowledgesCallbacks: Bool
    private let onBegin: @Sendable () -> Void
    private let onEvent: @Sendable (Event) -> Void
    private let onEnd: @Sendable (BusError?) -> Void

    /// - Parameters:
    ///   - acknowledgesCallbacks: whether `onEvent` is all there is to do about an event.
    ///   - onBegin: called when the broker agreed, for each connection anew.
    ///   - onEvent: called on the bus's thread, in order.
    ///   - onEnd: called once when no event comes any more; nil where it was asked for.
    init(
        sub: Int,
        patterns: [String],
        options: SubscribeOptions,
        acknowledgesCallbacks: Bool = false,
        onBegin: @escaping @Sendable () -> Void = {},
        onEvent: @escaping @Sendable (Event) -> Void,
        onEnd: @escaping @Sendable (BusError?) -> Void
    ) {
        self.sub = sub
        self.patterns = patterns
        self.options = options
        self.acknowledgesCallbacks = acknowledgesCallbacks
        self.onBegin = onBegin
        self.onEvent = onEvent
        self.onEnd = onEnd
    }

    func begin() { onBegin() }
    func receive(_ event: Event) { onEvent(event) }
    func end(_ error: BusError?) { onEnd(error) }

    /// The request that sets it up.
    var body: RequestBody { .subscribe(patterns, sub: sub, options) }
}
