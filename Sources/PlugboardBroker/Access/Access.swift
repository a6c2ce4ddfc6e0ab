// The rights of clients, and the resources that each user takes up. Operations ask here before they change
// anything. Without a policy, each question costs one test for nil. Owned by the hub. Owns the policy that
// the broker follows, and the accounts of users. It knows no value, no observer and no other room: if rights
// change, the hub takes the consequences. What always holds (`checkInvariants`): an account counts exactly
// what its user takes up, and between turns no batch is planned.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The room of rights and quotas.
struct Access: ~Copyable {
    private let inPlace = InPlace()
    /// The broker's own user.
    let owner: UInt32
    /// Nil if there is no policy. Then every client may do everything.
    private var policy: PolicyInForce?
    /// The revision at which the policy came into force.
    private(set) var policyRevision: UInt64 = 0
    private var accounts = UserAccounts()
    /// The account of the user whose batch is being checked. The batch's writes count there before they are
    /// made.
    private var planning: UserAccount?
    /// What clients without a quota take up together.
    private var commons: Commons

    init(owner: UInt32 = Accounts.ownUser, commons: Commons = Commons()) {
        self.owner = owner
        self.commons = commons
    }

    // MARK: The policy

    var followsPolicy: Bool { policy != nil }
    /// The text of the present policy.
    var policyText: [UInt8]? { policy?.policy.text }

    /// Whether a peer may connect at all.
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

    /// Notes that the present policy was in force earlier already, under the broker before.
    mutating func note(policySince revision: UInt64) {
        policyRevision = min(revision, policyRevision)
    }

    /// Whether the policy has not changed since a revision. If it has, a client may see keys that it couldn't
    /// see then, so it can't resume from that revision.
    func hasStood(since revision: UInt64) -> Bool { policy == nil || revision >= policyRevision }

    /// What a client may do under the policy; nil if there is no policy.
    mutating func rights(of peer: PeerIdentity, _ groups: [UInt32], name: String?) -> Rights? {
        policy?.rights(of: peer.user, groups, name: name)
    }

    /// Throws unless a client may make a write.
    @inline(never)
    func checkWrite(_ request: Request, _ line: Span<UInt8>, _ session: borrowing Session) throws(Refusal) {
        let key = request.key.bytes(of: line)
        try Self.check(request.operation == .emit ? .emit : .publish, request, line, session)
        guard request.readsValue else { return }
        guard session.authorize(.subscribe, key) else {
            var refusal = Self.forbidden(.subscribe, request.key, line, session)
            refusal.hint = "patch, add, delete and \"if\" depend on what is there: they need that right, too"
            throw refusal
        }
    }

    /// Throws as if the key of a request had no value, if the client may not see that key.
    static func checkSeen(_ request: Request, _ line: Span<UInt8>, _ session: borrowing Session)
        throws(Refusal)
    {
        guard session.isGuarded else { return }
        try Key.check(request.key, line)
        let key = request.key.bytes(of: line)
        if session.authorize(.subscribe, key) { return }
        let who = session.clearance?.objection(.subscribe, key).who ?? "the policy"
        throw .noValue(request, line, hint: "none that \(who) lets this client see")
    }

    /// Throws unless a client may do something with the key of a request.
    static func check(
        _ action: PolicyAction, _ request: Request, _ line: Span<UInt8>, _ session: borrowing Session
    ) throws(Refusal) {
        guard session.isGuarded else { return }
        guard session.authorize(action, request.key.bytes(of: line)) else {
            throw forbidden(action, request.key, line, session)
        }
    }

    /// Throws unless a client may see at least some of the keys that each of its patterns can match.
    static func checkPatterns(
        _ wanted: [ByteRange], _ line: Span<UInt8>, _ session: borrowing Session
    ) throws(Refusal) {
        guard session.isGuarded else { return }
        for range in wanted where !session.authorizeSome(.subscribe, range.bytes(of: line)) {
            throw forbidden(.subscribe, range, line, session)
        }
    }

    static func forbidden(
        _ action: PolicyAction, _ range: ByteRange, _ line: Span<UInt8>, _ session: borrowing Session
    ) -> Refusal {
        let word = action == .subscribe ? "see" : action.rawValue
        let objection =
            session.clearance?.objection(action, range.bytes(of: line)) ?? Clearance.policyObjection
        let message = "\(objection.who) does not let this client \(word) \"\(range.excerpt(of: line))\""
        return Refusal(.forbidden, message, hint: objection.hint, at: range.start)
    }

    // MARK: Quotas

    /// Whether the resources of users are counted.
    @inline(__always) var counts: Bool { accounts.isOn }

    /// Whether a user may have one more connection.
    mutating func hasRoom(for user: UInt32) -> Bool {
        guard let account = account(of: user) else { return true }
        return account.connections < account.quota.connections
    }

    /// Counts what a client takes up from now on.
    mutating func openAccount(of session: borrowing Session) {
        guard let clearance = session.clearance,
            let account = account(of: session.peer.user)
        else { return }
        account.connections += 1
        clearance.account = account
    }

    /// Stops counting a client that has left.
    func closeAccount(of session: borrowing Session) {
        guard let clearance = session.clearance, let account = clearance.account else { return }
        account.waiting.owed -= clearance.waiting.owed
        account.waiting.partial -= clearance.waiting.partial
        account.connections -= 1
        clearance.account = nil
    }

    /// The account of a user whose values an earlier broker kept. For the time before the policy is loaded.
    mutating func restoredAccount(of user: UInt32) -> UserAccount { accounts.restored(user: user) }

    /// Throws if so many more patterns would exceed the quota of a client's user. Patterns count instead of
    /// subscriptions, because a subscription has up to 64 of them. Served patterns count, too.
    static func checkSubscriptions(of session: borrowing Session, patterns: Int) throws(Refusal) {
        guard let account = session.clearance?.account,
            account.subscriptions + patterns > account.quota.subscriptions
        else { return }
        let most = account.quota.subscriptions
        throw overQuota("subscriptions", "observes and serves at most \(most) patterns")
    }

    /// Counts the patterns and the filter of a subscription; `sign` is -1 when it ends.
    func charge(
        _ session: borrowing Session,
        for subscription: borrowing SubscriptionRecord,
        traced: Int,
        _ sign: Int = 1
    ) {
        guard let account = session.clearance?.account else { return }
        let observed = subscription.keys.count + subscription.patterns.count
        account.subscriptions += sign * (observed + traced)
        account.kept += sign * (subscription.filter?.bytes ?? 0)
    }

    /// Throws if so many more bytes would exceed the quota of a client's user. For what the broker keeps
    /// beside values: wills and filters.
    func checkKept(_ bytes: Int, of session: borrowing Session) throws(Refusal) {
        guard bytes > 0, let account = session.clearance?.account,
            account.kept + bytes > account.quota.kept
        else { return }
        throw Self.overKept(account)
    }

    /// Counts a will of so many bytes in place of an earlier one, or throws. 0 stands for no will.
    func replaceWill(of session: borrowing Session, _ before: Int, by bytes: Int) throws(Refusal) {
        try checkKept(bytes - before, of: session)
        session.clearance?.account?.kept += bytes - before
    }

    /// Throws if so many more keys and bytes would exceed the quota of a writer's user.
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

    /// Call it before the writes of a batch are checked. Then each write counts when the following ones are
    /// checked.
    mutating func beginPlanning(for session: borrowing Session) {
        planning = session.clearance?.account
        planning?.planned = (0, 0)
    }

    /// Call it when the batch was made or refused.
    mutating func endPlanning() {
        planning?.planned = (0, 0)
        planning = nil
    }

    /// Counts the bytes owed to a client anew. Returns what is exceeded if they have grown: the quota of its
    /// user, or what clients without one have together.
    @inline(never)
    mutating func recountOwed(_ session: SessionHandle, _ sessions: inout SessionTable) -> Excess? {
        let clearance = sessions[session].clearance
        if let clearance, let isOver = count(.owed, sessions[session].owedBytes, of: session, clearance) {
            return isOver ? .quota : nil
        }
        let bytes = sessions[session].ownOwedBytes
        sessions[session].hasShare = bytes > 0
        return commons.note(.owed, bytes, of: session) ? .commonOwed : nil
    }

    /// Counts the bytes of a request that has come in part. Returns the same as `recountOwed`.
    mutating func recountPartial(
        _ bytes: Int, of session: SessionHandle, _ clearance: Clearance?
    ) -> Excess? {
        if let clearance, let isOver = count(.partial, bytes, of: session, clearance) {
            return isOver ? .quota : nil
        }
        return commons.note(.partial, bytes, of: session) ? .commonPartial : nil
    }

    /// Counts bytes of a client for its user. Returns whether they have grown past the user's quota; nil if
    /// it has none.
    private mutating func count(
        _ kind: WaitingBytes.Kind, _ bytes: Int, of session: SessionHandle, _ clearance: Clearance
    ) -> Bool? {
        guard let account = clearance.account else { return nil }
        let growth = bytes - clearance.waiting[kind]
        account.waiting[kind] += growth
        clearance.waiting[kind] = bytes
        guard account.quota[kind] < .max else { return nil }
        // It may have been without one before.
        _ = commons.note(kind, 0, of: session)
        return growth > 0 && account.waiting[kind] > account.quota[kind]
    }

    /// Forgets the share of a client that has left.
    mutating func forget(_ session: SessionHandle) { commons.forget(session) }

    /// Checks that the accounts agree with what was found, and that no batch is being checked.
    func checkInvariants(_ found: FoundUse, _ living: borrowing Living) throws(BrokenInvariant) {
        try Invariants(of: "Access").hold("no batch is being checked", planning == nil)
        try commons.checkInvariants(living)
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

// Questions about a client's rights and its user's quota. They change nothing.

extension Session {
    /// Whether this client may do something with a key.
    @inline(__always)
    func authorize(_ action: PolicyAction, _ key: Span<UInt8>) -> Bool {
        clearance == nil || isPermitted(action, key)
    }

    /// Whether this client may do something with every key that a pattern matches.
    func authorizeAll(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        clearance?.permitAll(action, pattern) ?? true
    }

    /// Whether this client may do something with some key that a pattern matches.
    func authorizeSome(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        clearance?.permitSome(action, pattern) ?? true
    }

    @inline(never)
    private func isPermitted(_ action: PolicyAction, _ key: Span<UInt8>) -> Bool {
        clearance?.permit(action, key) ?? true
    }

    /// Whether its waiting bytes have to be counted whenever it is served.
    var isCounted: Bool { isGuarded || isBehind || hasShare }

    /// Whether something that was queued for this client has not been sent yet.
    var hasUnread: Bool {
        if let catchup, !catchup.isEmpty { return true }
        return outbox.count > 0 || isBehind || isHeld
    }
}

extension Session {
    /// About how many bytes a call takes up while it waits for its answer.
    private static let callBytes = 512

    /// The bytes that wait for this client: its outbox, its catch-up, owed keys, and its unanswered calls.
    var owedBytes: Int { outbox.keptCount + waitingBytes }

    /// The same without the bytes that it shares with other clients.
    var ownOwedBytes: Int { mutating get { outbox.own.count + outbox.unsharedBytes() + waitingBytes } }

    private var waitingBytes: Int {
        guard isOpen else { return 0 }
        var calls = (duties?.made.count ?? 0) * Self.callBytes
        if let clearance {
            for backlog in clearance.withheld.values { calls += backlog.keys.count * OwedKey.countedBytes }
        }
        guard let catchup else { return calls }
        return calls + catchup.queuedBytes + catchup.deferred.count
            + catchup.owedCount * OwedKey.countedBytes
    }
}

/// How a supervisor's report about a plugin concerns a client.
enum ReportedClient {
    /// It belonged to the plugin already.
    case known
    /// It turns out to belong to the plugin.
    case found
    /// It has taken the plugin's name.
    case namesake
    case other

    init(
        _ session: borrowing Session,
        _ plugin: SupervisedPlugin,
        _ supervision: borrowing Supervision,
        _ keyspace: borrowing Keyspace
    ) {
        if let own = session.clearance?.plugin, own === plugin {
            self = .known
        } else if session.clearance?.plugin == nil, supervision.plugin(of: session.peer) === plugin {
            self = .found
        } else {
            self = session.isNamed(plugin.name, keyspace) ? .namesake : .other
        }
    }
}
