// Whether a client's connection still lives, asked by what it wrote, which may outlast
// it by far. Shared by all the names a client signs with; counted, since values refer
// to it. Ends once and for good.

typealias PresenceReference = UnsafeMutablePointer<Presence>

/// The life of one client's connection.
struct Presence {
    /// The client's number; 0 is the broker itself.
    let client: UInt64
    /// Whether the connection lives.
    private(set) var isLive = true
    private var references = 1
    /// The account of its user, which the hub keeps alive.
    private let keptAccount: Unmanaged<UserAccount>?

    var account: UserAccount? { keptAccount?.takeUnretainedValue() }

    /// Makes a presence with one reference, the caller's.
    static func make(client: UInt64, account: UserAccount? = nil) -> PresenceReference {
        let reference = PresenceReference.allocate(capacity: 1)
        reference.initialize(to: Presence(client: client, account: account))
        return reference
    }

    static func retain(_ presence: PresenceReference) {
        presence.pointee.references += 1
    }

    static func release(_ presence: PresenceReference) {
        presence.pointee.references -= 1
        if presence.pointee.references == 0 { presence.deallocate() }
    }

    /// The connection has ended.
    mutating func end() {
        isLive = false
    }

    private init(client: UInt64, account: UserAccount?) {
        self.client = client
        keptAccount = account.map(Unmanaged.passUnretained)
    }
}
