// What clients take up in a broker, and what they may. Each client has an account: under a policy that of its
// user, else the common one. What is charged is given back where the thing ends. `Access` owns the accounts.
// Those of users are never removed, because values outlive their writers' connections.

import PlugboardMemory
import PlugboardWire

/// What all clients of one account together may take up, or do take up.
public struct Quota: Equatable, Sendable {
    var connections = 0
    /// Patterns that all these connections observe, trace and serve. Patterns count instead of subscriptions,
    /// because a subscription has up to 64 of them.
    var subscriptions = 0
    var owed = 0
    /// Bytes of requests that these connections have sent in part.
    var partial = 0
    /// Keys that this user was the last to write.
    var keys = 0
    /// Bytes of those keys and values, and of wills and filters.
    var kept = 0

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

    /// This protects the machine from one's own faulty programs.
    static func common(
        owed: Int = Limits.commonOwedBytesMax, partial: Int = Limits.commonPartialBytesMax
    ) -> Quota {
        var quota = unlimited
        (quota.owed, quota.partial) = (owed, partial)
        return quota
    }

    subscript(kind: WaitingBytes.Kind) -> Int {
        get { kind == .owed ? owed : partial }
        set { if kind == .owed { owed = newValue } else { partial = newValue } }
    }
}

/// What some clients take up together: those of one user, or all without a quota.
final class Account: Checked {
    /// Nil for the common account.
    let user: UInt32?
    var limits: Quota
    var used = Quota()

    init(user: UInt32?, limits: Quota) {
        (self.user, self.limits) = (user, limits)
    }

    /// Throws unless there is room for so much more. What gets smaller always fits.
    func checkRoom(subscriptions: Int = 0, keys: Int = 0, kept: Int = 0) throws(Refusal) {
        guard subscriptions <= 0 || used.subscriptions + subscriptions <= limits.subscriptions else {
            throw full("subscriptions", "observes and serves at most \(limits.subscriptions) patterns")
        }
        guard keys <= 0 || used.keys + keys <= limits.keys else {
            throw full("keys", "has at most \(limits.keys) keys")
        }
        guard kept <= 0 || used.kept + kept <= limits.kept else {
            throw full("kept", "has at most \(limits.kept) bytes of keys, values, wills and filters")
        }
    }

    private func full(_ name: String, _ quota: String) -> Refusal {
        Refusal(
            .limit,
            "this user, all its clients together, \(quota)",
            hint: "\"\(name)\" of \"quotas\" in the broker's --policy"
        )
    }

    func checkInvariants(_ found: Quota) throws(BrokenInvariant) {
        let whose = user.map { "user \($0)" } ?? "all without a quota"
        for (name, place) in Quota.names {
            let (stated, there) = (used[keyPath: place], found[keyPath: place])
            let subject = "\(name) of \(whose)"
            try Self.always.agree("it counts what is taken up", stated, there, of: subject)
        }
    }
}

/// Bytes of a client that wait in the broker: for the client to read them, and for the rest of a request. Counts of 32
/// bits, because each session has them.
struct WaitingBytes {
    enum Kind { case owed, partial }

    private var (owed, partial): (UInt32, UInt32) = (0, 0)

    subscript(kind: Kind) -> Int {
        get { Int(kind == .owed ? owed : partial) }
        set {
            let count = UInt32(clamping: newValue)
            if kind == .owed { owed = count } else { partial = count }
        }
    }
}

extension Hub {
    /// Counts anew what a client is owed, and closes the client if that is too much.
    @inline(never)
    mutating func countOwed(to session: SessionHandle) {
        // The common account doesn't pay for what its client shares with others.
        let isCommon = access.payer(of: .owed, sessions[session]) === access.common
        let unread = isCommon ? sessions[session].outbox.keptOwnCount : sessions[session].outbox.keptCount
        recount(.owed, unread + sessions[session].waitingBytes, of: session)
    }

    /// Closes the client only if its bytes have grown: who reads is not the one who takes too much.
    mutating func recount(_ kind: WaitingBytes.Kind, _ bytes: Int, of session: SessionHandle) {
        let before = sessions[session].waiting[kind]
        if bytes == before { return }
        sessions[session].waiting[kind] = bytes
        let growth = sessions[session].waiting[kind] - before
        let account = access.payer(of: kind, sessions[session])
        account.used[kind] += growth
        let most = account.limits[kind]
        guard growth > 0, account.used[kind] > most else { return }
        let what = kind == .owed ? "bytes wait to be read" : "bytes of unfinished requests wait"
        let message = "more than \(most) \(what) of all clients without a quota together"
        delivery.setAside(session, .quota, saying: account.user == nil ? message : nil, &sessions)
        // What it is owed makes room for the others at once: they may be counted in the same turn.
        if kind == .owed { countOwed(to: session) }
    }
}
