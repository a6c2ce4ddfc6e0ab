// Quotas: what all clients of one user together may take up in a broker, and accounts of what they do take
// up. Quotas apply only under a policy, because without one only the broker's own user and root can connect.
// `Access` owns the accounts. They are never removed, because values outlive their writers' connections.

import PlugboardMemory
import PlugboardWire

/// The limits of one user.
public struct Quota: Equatable, Sendable {
    /// Connections at the same time.
    var connections: Int
    /// Patterns that all these connections observe, trace and serve.
    var subscriptions: Int
    /// Bytes that wait until these connections read them.
    var owed: Int
    /// Bytes of requests that these connections have sent in part.
    var partial: Int
    /// Keys that this user was the last to write.
    var keys: Int
    /// Bytes of those keys and values, and of wills and filters.
    var kept: Int

    /// The quota of users for whom the policy has none, except the broker's own user and root.
    static let others = Quota(
        connections: 1_024,
        subscriptions: 131_072,
        owed: 268_435_456,
        partial: 33_554_432,
        keys: 1_000_000,
        kept: 268_435_456
    )
    static let unlimited = Quota(
        connections: .max, subscriptions: .max, owed: .max, partial: .max, keys: .max, kept: .max
    )

    /// The names of the limits in a policy, in the order of the specification.
    static let names: [(name: String, place: WritableKeyPath<Quota, Int> & Sendable)] = [
        ("connections", \.connections), ("subscriptions", \.subscriptions), ("owed", \.owed),
        ("partial", \.partial), ("keys", \.keys), ("kept", \.kept),
    ]
}

extension Quota {
    subscript(kind: WaitingBytes.Kind) -> Int { kind == .owed ? owed : partial }
}

/// What one user takes up.
final class UserAccount {
    let user: UInt32
    var quota: Quota
    var connections = 0
    var subscriptions = 0
    var waiting = WaitingBytes()
    var keys = 0
    var kept = 0
    /// What the batch that is being checked would add.
    var planned = (keys: 0, bytes: 0)

    init(user: UInt32, quota: Quota) {
        self.user = user
        self.quota = quota
    }
}

/// The accounts of all users who have connected, or whose values were kept.
struct UserAccounts {
    /// Whether use is counted: there is a policy, or kept values belong to users.
    private(set) var isOn = false
    private var accounts: [UInt32: UserAccount] = [:]

    /// Applies the quotas of another policy.
    mutating func follow(_ quota: (UInt32) -> Quota) {
        isOn = true
        for (user, account) in accounts { account.quota = quota(user) }
    }

    /// The account of a user. If there is none yet, it is made with that quota.
    mutating func account(of user: UInt32, quota: @autoclosure () -> Quota) -> UserAccount {
        if let account = accounts[user] { return account }
        let account = UserAccount(user: user, quota: quota())
        accounts[user] = account
        return account
    }

    /// The account of a user whose values an earlier broker kept. For the time before the policy is loaded.
    mutating func restored(user: UInt32) -> UserAccount {
        isOn = true
        return account(of: user, quota: .others)
    }
}

/// What users really take up, as found by the checks of invariants.
struct FoundUse {
    private(set) var accounts: [ObjectIdentifier: UserAccount] = [:]

    /// Adds to what a user takes up. Does nothing without an account.
    mutating func add(to account: UserAccount?, _ change: (UserAccount) -> Void) {
        guard let account else { return }
        let identity = ObjectIdentifier(account)
        let found = accounts[identity] ?? UserAccount(user: account.user, quota: account.quota)
        accounts[identity] = found
        change(found)
    }
}

extension UserAccounts {
    /// Checks that each account agrees with what was found.
    func checkInvariants(_ found: FoundUse) throws(BrokenInvariant) {
        for account in accounts.values {
            let use =
                found.accounts[ObjectIdentifier(account)]
                ?? UserAccount(user: account.user, quota: account.quota)
            try account.checkInvariants(use)
        }
    }
}

extension UserAccount {
    private static var always: Invariants { Invariants(of: "UserAccount") }

    fileprivate func checkInvariants(_ use: UserAccount) throws(BrokenInvariant) {
        let user = "user \(self.user)"
        try Self.always.agree("it counts the connections", connections, use.connections, of: user)
        try Self.always.agree(
            "it counts what is observed and served", subscriptions, use.subscriptions, of: user
        )
        try Self.always.agree("it counts what is owed", waiting.owed, use.waiting.owed, of: user)
        try Self.always.agree(
            "it counts the requests in part", waiting.partial, use.waiting.partial, of: user
        )
        try Self.always.agree("it counts the keys", keys, use.keys, of: user)
        try Self.always.agree("it counts the bytes that are kept", kept, use.kept, of: user)
        try Self.always.hold("no batch is under way", planned.keys == 0 && planned.bytes == 0, of: user)
    }
}

// What clients without a quota take up together. Without a policy, these are all clients. With a policy,
// these are the clients of the broker's own user and of root, unless it names them. The limit protects the
// machine from one's own faulty programs. Owned by `Access`. What always holds: clients that take up nothing
// aren't noted and cost nothing, and the sums agree with the shares.

/// Bytes that wait in the broker: for clients to read them, and for the rest of their requests.
struct WaitingBytes {
    enum Kind { case owed, partial }

    var owed = 0
    var partial = 0

    subscript(kind: Kind) -> Int {
        get { kind == .owed ? owed : partial }
        set { if kind == .owed { owed = newValue } else { partial = newValue } }
    }
}

/// The shares of clients in the two common limits.
struct Commons {
    private let most: WaitingBytes
    private var shares: [SessionHandle: WaitingBytes] = [:]
    private var sum = WaitingBytes()

    init(owedMax: Int = Limits.commonOwedBytesMax, partialMax: Int = Limits.commonPartialBytesMax) {
        most = WaitingBytes(owed: owedMax, partial: partialMax)
    }

    /// Notes how many bytes of a client wait. Returns true if they have grown and the sum exceeds the limit.
    mutating func note(_ kind: WaitingBytes.Kind, _ bytes: Int, of session: SessionHandle) -> Bool {
        if bytes == 0, shares.isEmpty { return false }
        var share = shares[session] ?? WaitingBytes()
        let growth = bytes - share[kind]
        sum[kind] += growth
        share[kind] = bytes
        shares[session] = share.owed > 0 || share.partial > 0 ? share : nil
        return growth > 0 && sum[kind] > most[kind]
    }

    /// Forgets a client that has left.
    mutating func forget(_ session: SessionHandle) {
        guard let share = shares.removeValue(forKey: session) else { return }
        sum.owed -= share.owed
        sum.partial -= share.partial
    }
}

extension Commons {
    private static var always: Invariants { Invariants(of: "Commons") }

    /// All noted clients exist, and the sums are right.
    func checkInvariants(_ living: borrowing Living) throws(BrokenInvariant) {
        for session in shares.keys {
            try Self.always.hold("who is noted is there", living.sessions.contains(session))
        }
        let owed = shares.values.reduce(0) { $0 + $1.owed }
        try Self.always.agree("it adds up what is owed", sum.owed, owed)
        let partial = shares.values.reduce(0) { $0 + $1.partial }
        try Self.always.agree("it adds up the requests in part", sum.partial, partial)
    }
}

// Too many bytes wait for a client to read them, or have come of its next request: too many for its user's
// quota, or for all clients without a quota together. Such a client is closed.

/// The limit that a client has exceeded, so that it is closed.
enum Excess {
    /// The quota of its user.
    case quota
    /// The limit of what waits for all clients without a quota together, or of what they have sent in part.
    case commonOwed, commonPartial

    /// What the client's last line says; nil if it only names the quota.
    var message: String? {
        switch self {
        case .quota: nil
        case .commonOwed: Self.message("\(Limits.commonOwedBytesMax) bytes wait to be read")
        case .commonPartial: Self.message("\(Limits.commonPartialBytesMax) bytes of unfinished requests wait")
        }
    }

    private static func message(_ what: String) -> String {
        "more than \(what) of all clients without a quota together"
    }
}

extension Hub {
    /// Counts anew what a client is owed, and closes the client if that is too much.
    @inline(never)
    mutating func countOwed(to session: SessionHandle) {
        if let excess = access.recountOwed(session, &sessions) { close(session, excess) }
    }

    /// Counts what has come of a client's next request, and closes the client if that is too much.
    mutating func countPartial(_ bytes: Int, of session: SessionHandle) {
        let clearance = sessions[session].clearance
        if let excess = access.recountPartial(bytes, of: session, clearance) { close(session, excess) }
    }

    private mutating func close(_ session: SessionHandle, _ excess: Excess) {
        guard let message = excess.message else { return delivery.setAside(session, .quota, &sessions) }
        delivery.setAside(session, .quota, saying: message, &sessions)
    }
}

// How a key with a value counts for its writer's user. The broker's own keys count for nobody.

/// Charges accounts for keys. Each key counts while it has a value.
enum KeyCharge {
    /// How many bytes of a key with a value count.
    static func bytes(of observable: ObservableHandle, _ keyspace: borrowing Keyspace) -> Int {
        keyspace[observable].keptBytes + keyspace.authors.originBytes(keyspace.writer(of: observable))
    }

    /// Call before a value is set, whether there was one or not.
    @inline(never)
    static func charge(
        _ observable: ObservableHandle, count: Int, to author: AuthorHandle, _ keyspace: borrowing Keyspace
    ) {
        discharge(observable, keyspace)
        guard !keyspace[observable].isReserved, let account = keyspace.authors.account(author) else { return }
        account.keys += 1
        account.kept += keyspace[observable].key.count + keyspace.authors[author].origin.count + count
    }

    /// Call before a value is removed.
    @inline(never)
    static func discharge(_ observable: ObservableHandle, _ keyspace: borrowing Keyspace) {
        guard keyspace[observable].hasValue, !keyspace[observable].isReserved,
            let account = keyspace.account(of: observable)
        else { return }
        account.keys -= 1
        account.kept -= bytes(of: observable, keyspace)
    }
}
