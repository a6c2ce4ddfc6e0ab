// The policy that a broker follows now, and the rights made from it. Owned by `Access`. Clients to whom the
// same rules apply share one `Rights` object, so that many clients need little memory.

/// A policy with the rights made from it.
struct PolicyInForce {
    let policy: Policy
    /// The broker's own user.
    private let owner: UInt32
    /// Rights by the places of their rules.
    private var made: [[Int]: Rights] = [:]

    init(_ policy: Policy, owner: UInt32) {
        self.policy = policy
        self.owner = owner
    }

    /// Whether a user may connect.
    func admits(_ user: UInt32, _ groups: [UInt32]) -> Bool {
        policy.admits(user, groups, owner: owner)
    }

    /// A user's quota.
    func quota(of user: UInt32) -> Quota {
        policy.quota(of: user, owner: owner)
    }

    /// What a client may do.
    mutating func rights(of user: UInt32, _ groups: [UInt32], name: String?) -> Rights {
        let places = policy.applicable(to: user, groups, name: name, owner: owner)
        if let rights = made[places] { return rights }
        let rights = Rights(places.map { policy.rules[$0] })
        made[places] = rights
        return rights
    }
}
