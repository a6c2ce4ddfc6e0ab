// What a subscription wants to be told.

/// Options of a subscription; the defaults are the protocol's.
public struct SubscribeOptions: Sendable, Equatable {
    /// Whether the current values come first, ended by `synced`.
    public var initial: Bool
    /// Whether `update` and `delete` carry the value before.
    public var old: Bool
    /// Whether values come at all, or only which key changed.
    public var values: Bool
    /// Whether keys are remembered, so that those deleted while the connection was down
    /// are told as `delete` with `isInitial` once it is back. Costs memory for each key;
    /// needs `initial`.
    public var noticesDeletes: Bool
    /// Bytes of events that may wait for a `for await` loop; then the loop throws.
    public var unreadBytesMax: Int

    public init(
        initial: Bool = true,
        old: Bool = false,
        values: Bool = true,
        noticesDeletes: Bool = false,
        unreadBytesMax: Int = ClientLimits.unreadBytesMax
    ) {
        self.initial = initial
        self.old = old
        self.values = values
        self.noticesDeletes = noticesDeletes
        self.unreadBytesMax = unreadBytesMax
    }
}
