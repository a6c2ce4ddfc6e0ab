// What one user may take up in a broker, all of its clients together, and what it does take
// up. There are quotas where a policy is followed: without one nobody but the broker's own
// user and root connect. Accounts are owned by the hub and live as long as it does, since
// values outlive their writers' connections.

import PlugboardWire

/// What a user may take up.
public struct Quota: Equatable, Sendable {
    /// Connections at a time.
    var connections: Int
    /// Patterns of the subscriptions and services of all of them.
    var subscriptions: Int
    /// Bytes that wait in the broker for them to be read.
    var owed: Int
    /// Keys whose value is of this user.
    var keys: Int
    /// Bytes of those keys and values, and of wills and filters.
    var kept: Int

    /// Of users that the policy gives none, but the broker's own and root.
    static let others = Quota(
        connections: 1_024,
        subscriptions: 131_072,
        owed: 268_435_456,
        keys: 1_000_000,
        kept: 268_435_456
    )
    static let unlimited = Quota(
        connections: .max,
        subscriptions: .max,
        owed: .max,
        keys: .max,
        kept: .max
    )

    /// The names in a policy, in the order of its documentation.
    static let names: [(name: String, place: WritableKeyPath<Quota, Int> & Sendable)] = [
        ("connections", \.connections), ("subscriptions", \.subscriptions), ("owed", \.owed),
        ("keys", \.keys), ("kept", \.kept),
    ]
}

/// What a user takes up.
final class UserAccount {
    let user: UInt32
    var quota: Quota
    var connections = 0
    var subscriptions = 0
    var owed = 0
    var keys = 0
    var kept = 0
    /// What the batch under way would add.
    var planned = (keys: 0, bytes: 0)

    init(user: UInt32, quota: Quota) {
        self.user = user
        self.quota = quota
    }
}

/// The accounts of all users that have ever connected.
struct UserAccounts {
    /// A policy is followed, or was.
    private(set) var isOn = false
    private var accounts: [UInt32: UserAccount] = [:]

    /// Goes by another policy's quotas from now on.
    mutating func follow(_ quota: (UInt32) -> Quota) {
        isOn = true
        for (user, account) in accounts { account.quota = quota(user) }
    }

    /// The account of a user, made with that quota where there is none yet.
    mutating func account(of user: UInt32, quota: @autoclosure () -> Quota) -> UserAccount {
        if let account = accounts[user] { return account }
        let account = UserAccount(user: user, quota: quota())
        accounts[user] = account
        return account
    }

    /// The account of a user whose values an earlier broker kept. Before a policy is followed.
    mutating func restored(user: UInt32) -> UserAccount {
        isOn = true
        return account(of: user, quota: .others)
    }
}

/// What users were found to take up.
struct FoundUse {
    private(set) var accounts: [ObjectIdentifier: UserAccount] = [:]

    /// Adds to what a user takes up, where that is counted.
    mutating func add(to account: UserAccount?, _ change: (UserAccount) -> Void) {
        guard let account else { return }
        let identity = ObjectIdentifier(account)
        let found = accounts[identity] ?? UserAccount(user: account.user, quota: account.quota)
        accounts[identity] = found
        change(found)
    }
}

extension UserAccounts {
    /// Each account says what was found that its user takes up.
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
        try Self.always.agree("it counts the keys", keys, use.keys, of: user)
        try Self.always.agree("it counts the bytes that are kept", kept, use.kept, of: user)
        try Self.always.hold("no batch is under way", planned.keys == 0 && planned.bytes == 0, of: user)
    }
}
