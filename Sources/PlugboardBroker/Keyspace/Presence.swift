// Whether a client's connection still lives, asked by what it wrote, which may outlast
// it by far. Shared by all the names a client signs with. Ends once and for good.

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

    /// The connection has ended.
    func end() {
        isLive = false
    }
}
