// The patterns that are observed: a tree for each user. So one user's patterns don't make those of others
// expensive, and the nodes that a key visits are limited for each user.

import PlugboardMemory

/// All patterns that are observed.
struct UserPatterns {
    /// Most buses have one user.
    private var trees: [(user: UInt32, tree: PatternTree<SubscriptionHandle>)] = []

    /// How many nodes of a user's patterns a key visits at most.
    func steps(of user: UInt32) -> Int { tree(of: user)?.steps ?? 0 }

    /// Adds a subscription of a user at a well-formed pattern. Returns its place.
    mutating func insert(_ pattern: Span<UInt8>, _ subscription: SubscriptionHandle, of user: UInt32)
        -> PatternPlace
    {
        if tree(of: user) == nil { trees.append((user, PatternTree())) }
        let (node, index) = (tree(of: user) ?? PatternTree()).insert(pattern, subscription)
        return PatternPlace(node: node, index: Int32(index))
    }

    /// Removes the entry at a place. Returns the subscription that moved there, if any, for the caller to
    /// note.
    mutating func remove(_ place: PatternPlace, of user: UInt32) -> SubscriptionHandle? {
        guard let tree = tree(of: user) else { return nil }
        let moved = tree.remove(at: Int(place.index), from: place.node)
        if tree.isEmpty { trees.removeAll { $0.user == user } }
        return moved
    }

    /// Whether a pattern begins with this token.
    func hasBranch(_ token: String) -> Bool { trees.contains { $0.tree.hasBranch(token) } }

    /// Appends the subscriptions of all matching patterns to `found`. Returns the number of visited nodes.
    func match(_ key: Span<UInt8>, into found: inout List<SubscriptionHandle>) -> Int {
        var visits = 0
        for place in trees.indices { visits += trees[place].tree.match(key, into: &found) }
        return visits
    }

    private func tree(of user: UInt32) -> PatternTree<SubscriptionHandle>? {
        trees.first { $0.user == user }?.tree
    }

    /// `standing` is how many places subscriptions say they have.
    func checkInvariants(standing: Int) throws(BrokenInvariant) {
        var found = 0
        for (_, tree) in trees { found += try tree.checkInvariants() }
        try Invariants(of: "PatternTree").agree("nobody stands there who is gone", found, standing)
    }
}
