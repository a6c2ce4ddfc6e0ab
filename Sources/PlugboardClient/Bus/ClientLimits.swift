// The limits that this library sets itself, in one place. What the broker limits is
// in its greeting (`Bus.greeting`) and in `PlugboardWire.Limits`.

/// Limits of the client's own, in bytes but where it is said.
public enum ClientLimits {
    /// Requests that wait to be written because the broker doesn't read or is away.
    public static let outboxBytesMax = 16_777_216
    /// Events that wait for one subscription's `for await` loop.
    public static let unreadBytesMax = 67_108_864
    /// One line from the broker: a value and its predecessor, with room to spare.
    public static let lineBytesMax = 16_777_216
    /// Changes of one remote observable that wait for its first value.
    public static let heldChangesMax = 1_024
    /// What is read from the connection at once.
    static let readBytes = 65_536
    /// What an event costs a buffer beside its key and value.
    static let eventOverheadBytes = 224
}
