// Whether a client's connection still lives. What the client wrote asks it, and may outlive the connection by
// far. All authors of the client share it. It never becomes live again.

/// The life of one client's connection.
final class Presence {
    /// The client's number; 0 is the broker itself.
    let client: UInt64
    /// The account of its user.
    let account: UserAccount?
    /// Whether the connection lives.
    private(set) var isLive = true

    init(client: UInt64, account: UserAccount? = nil) {
        self.client = client
        self.account = account
    }

    /// Notes that the connection has ended.
    func end() {
        isLive = false
    }
}
