// Who may do what, and what each user takes up. Operations ask here before they change anything;
// without a policy every question is one test of a pointer.
// Owns the policy that is followed and the accounts of users. It knows no key's value, no
// observer and no other room: what follows from a change of rights is the hub's to do.
// What always holds (`checkInvariants`): without a policy nothing is planned and no rights were made;
// an account's figures are never negative; a batch is planned only while it is checked.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The room of rights and quotas.
struct Access {
    /// The broker's own user.
    private let owner: UInt32
    /// Nil: whoever may connect may do everything.
    private var policy: PolicyInForce?
    /// The revision at which it came into force.
    private(set) var policyRevision: UInt64 = 0
    private var accounts = UserAccounts()
    /// Whose batch is being checked: what its writes would add is counted.
    private var planning: UserAccount?

    init(owner: UInt32 = Accounts.ownUser) {
        self.owner = owner
    }

    // MARK: The policy

    var followsPolicy: Bool { policy != nil }
    /// The text of the policy that is followed.
    var policyText: [UInt8]? { policy?.policy.text }

    /// Whether somebody may connect at all.
    func admits(_ peer: PeerIdentity, _ groups: [UInt32]) -> Bool {
        if let policy { return policy.admits(peer.user, groups) }
        return peer.user == owner || peer.user == 0
    }

    /// Follows a policy from a revision on.
    mutating func follow(_ policy: Policy, since revision: UInt64) {
        let followed = PolicyInForce(policy, owner: owner)
        self.policy = followed
        accounts.follow { followed.quota(of: $0) }
        policyRevision = revision
    }

    /// The policy is known to have been in force before.
    mutating func note(policySince revision: UInt64) {
        policyRevision = min(revision, policyRevision)
    }

    /// What somebody may see has not grown since a revision: what it missed is what is new.
    func hasStood(since revision: UInt64) -> Bool { policy == nil || revision >= policyRevision }

    /// What a client may do by the policy; nil where none is followed.
    mutating func rights(of peer: PeerIdentity, _ groups: [UInt32], name: String?) -> Rights? {
        policy?.rights(of: peer.user, groups, name: name)
    }

    /// Throws unless a client may make a write.
    @inline(never)
    func checkWrite(_ request: Request, _ line: Span<UInt8>, _ session: borrowing Session) throws(Refusal) {
        let key = request.key.bytes(of: line)
        try check(request.operation == .emit ? .emit : .publish, request, line, session)
        let isBlind = request.operation == .publish || request.operation == .emit
        guard !isBlind || request.has(.ifRevision) else { return }
        guard session.authorize(.subscribe, key) else {
            var refusal = Self.forbidden(.subscribe, request.key, line, session)
            refusal.hint = "patch, delete and \"if\" depend on what is there: they need that right as well"
            throw refusal
        }
    }

    /// Throws unless a client may do something with the key of a request.
    func check(
        _ action: PolicyAction,
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: borrowing Session
    ) throws(Refusal) {
        guard session.isGuarded else { return }
        guard session.authorize(action, request.key.bytes(of: line)) else {
            throw Self.forbidden(action, request.key, line, session)
        }
    }

    /// Throws unless a client may be told of some of the keys that its patterns match.
    func checkPatterns(
        _ wanted: [ByteRange],
        _ line: Span<UInt8>,
        _ session: borrowing Session
    ) throws(Refusal) {
        guard session.isGuarded else { return }
        for range in wanted where !session.authorizeSome(.subscribe, range.bytes(of: line)) {
            throw Self.forbidden(.subscribe, range, line, session)
        }
    }

    static func forbidden(
        _ action: PolicyAction,
        _ range: ByteRange,
        _ line: Span<UInt8>,
        _ session: borrowing Session
    ) -> Refusal {
        let word = action == .subscribe ? "see" : action.rawValue
        let objection =
            session.clearance?.objection(action, range.bytes(of: line)) ?? Clearance.policyObjection
        let message = "\(objection.who) does not let this client \(word) \"\(range.excerpt(of: line))\""
        return Refusal(.forbidden, message, hint: objection.hint, at: range.start)
    }

    // MARK: Quotas

    /// What users take up is counted.
    @inline(__always) var counts: Bool { accounts.isOn }

    /// Whether one more connection of a user has its place.
    mutating func hasRoom(for user: UInt32) -> Bool {
        guard let account = account(of: user) else { return true }
        return account.connections < account.quota.connections
    }

    /// What a client takes up is counted from here on.
    mutating func openAccount(of session: borrowing Session) {
        guard let clearance = session.clearance,
            let account = account(of: session.peer.user)
        else { return }
        account.connections += 1
        clearance.account = account
    }

    /// A client has left.
    func closeAccount(of session: borrowing Session) {
        guard let clearance = session.clearance, let account = clearance.account else { return }
        account.owed -= clearance.owed
        account.connections -= 1
        clearance.account = nil
    }

    /// The account of a user whose values an earlier broker kept. Before a policy is followed.
    mutating func restoredAccount(of user: UInt32) -> UserAccount { accounts.restored(user: user) }

    /// Throws where so many patterns more would be too many for a client's user: a subscription has
    /// up to dozens of them, and what is served is remembered as well.
    func checkSubscriptions(of session: borrowing Session, patterns: Int) throws(Refusal) {
        guard let account = session.clearance?.account,
            account.subscriptions + patterns > account.quota.subscriptions
        else { return }
        let most = account.quota.subscriptions
        throw Self.overQuota("subscriptions", "observes and serves at most \(most) patterns")
    }

    /// Counts what a subscription has the broker remember; `sign` is -1 when it ends.
    func charge(
        _ session: borrowing Session,
        for subscription: borrowing Subscription,
        traced: Int,
        _ sign: Int = 1
    ) {
        guard let account = session.clearance?.account else { return }
        let observed = subscription.keys.count + subscription.patterns.count
        account.subscriptions += sign * (observed + traced)
        account.kept += sign * (subscription.filter?.bytes ?? 0)
    }

    /// Throws where so many bytes more would be too much for the user of a client, of what is kept for
    /// it beside its values.
    func checkKept(_ bytes: Int, of session: borrowing Session) throws(Refusal) {
        guard bytes > 0, let account = session.clearance?.account,
            account.kept + bytes > account.quota.kept
        else { return }
        throw Self.overKept(account)
    }

    /// Counts a will of so many bytes in place of another, or throws; 0 for none.
    func replaceWill(of session: borrowing Session, _ before: Int, by bytes: Int) throws(Refusal) {
        try checkKept(bytes - before, of: session)
        session.clearance?.account?.kept += bytes - before
    }

    /// Throws where so many keys and bytes more would be too much for a writer's user.
    func checkQuota(_ account: UserAccount, keys: Int, bytes: Int) throws(Refusal) {
        guard keys == 0 || account.keys + account.planned.keys + keys <= account.quota.keys else {
            throw Self.overQuota("keys", "has at most \(account.quota.keys) keys")
        }
        guard bytes <= 0 || account.kept + account.planned.bytes + bytes <= account.quota.kept else {
            throw Self.overKept(account)
        }
        guard planning === account else { return }
        account.planned.keys += keys
        account.planned.bytes += bytes
    }

    /// Before the writes of a batch are checked: each counts for those behind it.
    mutating func beginPlanning(for session: borrowing Session) {
        planning = session.clearance?.account
        planning?.planned = (0, 0)
    }

    /// When they were made, or refused.
    mutating func endPlanning() {
        planning?.planned = (0, 0)
        planning = nil
    }

    /// Counts anew what a client is owed. True where its user is owed too much by that.
    @inline(never)
    func recountOwed(_ session: borrowing Session) -> Bool {
        guard let clearance = session.clearance, let account = clearance.account else { return false }
        let owed = session.owedBytes
        let hasGrown = owed > clearance.owed
        account.owed += owed - clearance.owed
        clearance.owed = owed
        return hasGrown && account.owed > account.quota.owed
    }

    /// What is counted is what was found. Between turns no batch is checked.
    func checkInvariants(_ found: FoundUse) throws(BrokenInvariant) {
        try Invariants(of: "Access").hold("no batch is being checked", planning == nil)
        try accounts.checkInvariants(found)
    }

    private mutating func account(of user: UInt32) -> UserAccount? {
        guard let policy else { return nil }
        return accounts.account(of: user, quota: policy.quota(of: user))
    }

    private static func overKept(_ account: UserAccount) -> Refusal {
        overQuota("kept", "has at most \(account.quota.kept) bytes of keys, values, wills and filters")
    }

    private static func overQuota(_ name: String, _ quota: String) -> Refusal {
        Refusal(
            .limit,
            "this user, all its clients together, \(quota)",
            hint: "\"\(name)\" of \"quotas\" in the broker's --policy"
        )
    }
}
