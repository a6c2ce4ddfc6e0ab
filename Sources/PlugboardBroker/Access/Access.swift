// The rights of clients, and the accounts of what they take up. Operations ask here before they change
// anything. Without a policy, each question costs one test for nil. Owned by the hub. Owns the policy that
// the broker follows. It knows no value, no observer and no other room: if rights change, the hub takes the
// consequences. What always holds (`checkInvariants`): an account counts exactly what its clients take up.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

struct Access: ~Copyable {
    private let inPlace = InPlace()
    let owner: UInt32
    /// Nil if there is no policy. Then every client may do everything.
    private(set) var policy: Policy?
    /// By the places of their rules. Clients to whom the same rules apply share them.
    private var made: [[Int]: Rights] = [:]
    /// What `compare` was asked last.
    private var compared: (before: Rights, now: Rights, result: (showMore: Bool, showLess: Bool))?
    private(set) var policyRevision: UInt64 = 0
    /// The accounts of users who have connected under a policy, or whose values were kept.
    private var accounts: [UInt32: Account] = [:]
    /// Whether keys are counted: only users have a limit of them.
    var countsKeys: Bool { !accounts.isEmpty }
    /// The account of all clients without a policy. With one, clients whose users have no limit of what waits
    /// for them share it for that.
    let common: Account

    init(owner: UInt32 = Accounts.ownUser, common: Quota = .common()) {
        self.owner = owner
        self.common = Account(user: nil, limits: common)
    }

    // MARK: The policy

    func admits(_ peer: PeerIdentity, _ groups: [UInt32]) -> Bool {
        peer.user == owner || peer.user == 0 || policy?.admits(peer.user, groups, owner: owner) == true
    }

    mutating func follow(_ policy: Policy, since revision: UInt64, _ sessions: borrowing SessionTable) {
        (self.policy, made, policyRevision) = (policy, [:], revision)
        // From now on, others may have to pay for what waits.
        for session in sessions.handles { charge(sessions[session].waiting, to: sessions[session], -1) }
        for (user, account) in accounts { account.limits = policy.quota(of: user, owner: owner) }
        for session in sessions.handles { charge(sessions[session].waiting, to: sessions[session]) }
    }

    /// Notes that the present policy was in force earlier already, under the broker before.
    mutating func restore(policySince revision: UInt64) {
        policyRevision = min(revision, policyRevision)
    }

    /// If not, a client may see keys that it couldn't see then, so it can't resume from that revision. Whoever knows nothing
    /// can.
    func hasStood(since revision: UInt64) -> Bool {
        policy == nil || revision > policyRevision || revision == 0
    }

    /// What a client may do under the policy; nil if there is no policy.
    mutating func rights(of peer: PeerIdentity, _ groups: [UInt32], name: String?) -> Rights? {
        guard let policy else { return nil }
        let places = policy.applicable(to: peer.user, groups, name: name, owner: owner)
        if let rights = made[places] { return rights }
        let rights = Rights(places.map { policy.rules[$0] })
        made[places] = rights
        return rights
    }

    /// Whether rights may show more than earlier ones, and less. The last answer is kept, because many clients have
    /// the same rights.
    mutating func compare(_ before: Rights, _ now: Rights) -> (showMore: Bool, showLess: Bool) {
        if let known = compared, known.before === before, known.now === now { return known.result }
        let result = (showMore: now.mayShowMore(than: before), showLess: before.mayShowMore(than: now))
        compared = (before, now, result)
        return result
    }

    @inline(never)
    func checkWrite(_ request: Request, _ line: Span<UInt8>, _ session: borrowing Session) throws(Refusal) {
        try Self.check(request.operation == .emit ? .emit : .publish, request, line, session)
        guard request.readsValue, !session.authorize(.subscribe, request.key.bytes(of: line)) else { return }
        var refusal = Self.forbidden(.subscribe, request.key, line, session)
        refusal.hint = "patch, add, delete and \"if\" depend on what is there: they need that right, too"
        throw refusal
    }

    /// Throws as if the key of a request had no value, if the client may not see that key.
    static func checkSeen(_ request: Request, _ line: Span<UInt8>, _ session: borrowing Session)
        throws(Refusal)
    {
        guard session.isGuarded else { return }
        try Key.check(request.key, line)
        let key = request.key.bytes(of: line)
        if session.authorize(.subscribe, key) { return }
        let who = session.grant?.objection(.subscribe, key).who ?? "the policy"
        throw .noValue(request, line, hint: "none that \(who) lets this client see")
    }

    static func check(
        _ action: PolicyAction, _ request: Request, _ line: Span<UInt8>, _ session: borrowing Session
    ) throws(Refusal) {
        if session.authorize(action, request.key.bytes(of: line)) { return }
        throw forbidden(action, request.key, line, session)
    }

    /// Throws unless a client may see at least some of the keys that each of its patterns can match.
    static func checkPatterns(
        _ wanted: [ByteRange], _ line: Span<UInt8>, _ session: borrowing Session
    ) throws(Refusal) {
        for range in wanted where !session.authorize(.subscribe, range.bytes(of: line), .some) {
            throw forbidden(.subscribe, range, line, session)
        }
    }

    static func forbidden(
        _ action: PolicyAction, _ range: ByteRange, _ line: Span<UInt8>, _ session: borrowing Session
    ) -> Refusal {
        let word = action == .subscribe ? "see" : action.name
        let objection =
            session.grant?.objection(action, range.bytes(of: line)) ?? Grant.policyObjection
        let message = "\(objection.who) does not let this client \(word) \"\(range.excerpt(of: line))\""
        return Refusal(.forbidden, message, hint: objection.hint, at: range.start)
    }

    // MARK: Accounts

    func account(of session: borrowing Session) -> Account { session.grant?.account ?? common }

    /// Users whose values an earlier broker kept have one already before the policy is loaded.
    mutating func account(of user: UInt32, isRestored: Bool = false) -> Account {
        guard policy != nil || isRestored else { return common }
        if let account = accounts[user] { return account }
        let account = Account(user: user, limits: policy?.quota(of: user, owner: owner) ?? .others)
        accounts[user] = account
        return account
    }

    /// Who pays for what waits for a client: its user if that has a limit of it, and else all without one.
    func payer(of kind: WaitingBytes.Kind, _ session: borrowing Session) -> Account {
        if let account = session.grant?.account, account.limits[kind] < .max { return account }
        return common
    }

    mutating func hasRoom(for user: UInt32) -> Bool {
        let account = account(of: user)
        return account.used.connections < account.limits.connections
    }

    mutating func openAccount(of session: borrowing Session) {
        if policy != nil { session.grant?.account = account(of: session.peer.user) }
        account(of: session).used.connections += 1
    }

    func closeAccount(of session: borrowing Session) {
        charge(session.waiting, to: session, -1)
        account(of: session).used.connections -= 1
    }

    private func charge(_ waiting: WaitingBytes, to session: borrowing Session, _ sign: Int = 1) {
        payer(of: .owed, session).used.owed += sign * waiting[.owed]
        payer(of: .partial, session).used.partial += sign * waiting[.partial]
    }

    func checkInvariants(_ found: [ObjectIdentifier: Quota]) throws(BrokenInvariant) {
        for account in accounts.values + [common] {
            try account.checkInvariants(found[ObjectIdentifier(account)] ?? Quota())
        }
    }
}

// Questions about a client's rights. They change nothing.

extension Session {
    @inline(__always)
    func authorize(_ action: PolicyAction, _ keys: Span<UInt8>, _ scope: RightsScope = .key) -> Bool {
        grant?.permit(action, keys, scope) ?? true
    }

    /// Whether its waiting bytes have to be counted whenever it is served.
    var isCounted: Bool { isGuarded || isBehind || waiting[.owed] > 0 }

    var hasUnread: Bool {
        backlog?.hasUnread == true || outbox.count > 0 || isBehind
    }

    private static let callBytes = 512

    /// The bytes that wait for this client besides its outbox: its catch-up, owed keys, and its unanswered calls.
    var waitingBytes: Int {
        guard isOpen else { return 0 }
        let bytes = (calls?.made.count ?? 0) * Self.callBytes
        guard let backlog else { return bytes }
        return bytes + backlog.queuedBytes + backlog.gatheredBytes + backlog.deferred.count
            + backlog.owedCount * OwedKey.countedBytes
    }
}
