// All limits that this library itself sets. The broker's limits are in its greeting (`Bus.greeting`) and
// in `PlugboardWire.Limits`.

/// The client's own limits. They are in bytes unless the name says otherwise.
public enum ClientLimits {
    /// Requests that wait to be written, because the broker doesn't read or there is no connection.
    public static let outboxBytesMax = 16_777_216
    /// Events of one subscription that wait for its `for await` loop, or for their turn.
    public static let unreadBytesMax = 67_108_864
    /// Calls that wait for their turn, in one connection. Further calls are refused with `limit`.
    public static let queuedCallBytesMax = 16_777_216
    /// One line from the broker, which may have a value and the previous value.
    public static let lineBytesMax = 16_777_216
    /// Changes of one remote observable that wait for its first value.
    public static let heldChangesMax = 1_024
    /// The message of an error that a server answers with, in Unicode scalars.
    static let messageCharactersMax = 4_096
    /// Groups of `Subscription.forEachGroup` that are handled before they are acknowledged. Observers of
    /// later phases wait for that, but not longer than a second.
    static let unacknowledgedGroupsMax = 16
    /// A line that is sent by the thread that asks. Longer ones are left to the bus's thread.
    static let directBytesMax = 65_536
    /// What is read from the connection at a time.
    static let readBytes = 65_536
    /// What an event takes up besides its key and values.
    static let eventOverheadBytes = 224
}
