// Quotas: what all clients of one user together may take up in a broker, and accounts of what they do take
// up. Quotas apply only under a policy, because without one only the broker's own user and root can connect.
// `Access` owns the accounts. They are never removed, because values outlive their writers' connections.

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
        connections: .max,
        subscriptions: .max,
        owed: .max,
        partial: .max,
        keys: .max,
        kept: .max
    )

    /// The names of the limits in a policy, in the order of the specification.
    static let names: [(name: String, place: WritableKeyPath<Quota, Int> & Sendable)] = [
        ("connections", \.connections), ("subscriptions", \.subscriptions), ("owed", \.owed),
        ("partial", \.partial), ("keys", \.keys), ("kept", \.kept),
    ]
}

/// What one user takes up.
final class UserAccount {
    let user: UInt32
    var quota: Quota
    var connections = 0
    var subscriptions = 0
    var owed = 0
    var partial = 0
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
            "it counts what is observed and served",
            subscriptions,
            use.subscriptions,
            of: user
        )
        try Self.always.agree("it counts what is owed", owed, use.owed, of: user)
        try Self.always.agree("it counts the requests in part", partial, use.partial, of: user)
        try Self.always.agree("it counts the keys", keys, use.keys, of: user)
        try Self.always.agree("it counts the bytes that are kept", kept, use.kept, of: user)
        try Self.always.hold("no batch is under way", planned.keys == 0 && planned.bytes == 0, of: user)
    }
}
