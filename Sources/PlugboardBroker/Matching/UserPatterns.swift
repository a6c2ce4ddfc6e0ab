// The patterns that are observed, a tree for each user. So nobody's patterns make those of others dear, and
// none of them lets a key visit more than so many nodes.

import PlugboardMemory

/// All patterns that are observed.
struct UserPatterns {
    /// Most buses have one user.
    private var trees: [(user: UInt32, tree: PatternTree<SubscriptionHandle>)] = []

    /// How many nodes a key visits at most for the patterns of a user.
    func steps(of user: UInt32) -> Int { tree(of: user)?.steps ?? 0 }

    /// Adds a subscription of a user at a well-formed pattern; returns where.
    mutating func insert(_ pattern: Span<UInt8>, _ subscription: SubscriptionHandle, of user: UInt32)
        -> PatternPlace
    {
        if tree(of: user) == nil { trees.append((user, PatternTree())) }
        let (node, index) = (tree(of: user) ?? PatternTree()).insert(pattern, subscription)
        return PatternPlace(node: node, index: Int32(index))
    }

    /// Removes what stands at a place. Returns the one that took it, if any: it has to be told.
    mutating func remove(_ place: PatternPlace, of user: UInt32) -> SubscriptionHandle? {
        guard let tree = tree(of: user) else { return nil }
        let moved = tree.remove(at: Int(place.index), from: place.node)
        if tree.isEmpty { trees.removeAll { $0.user == user } }
        return moved
    }

    /// Whether a pattern begins with this token.
    func hasBranch(_ token: String) -> Bool { trees.contains { $0.tree.hasBranch(token) } }

    /// Adds everybody with a matching pattern to `found`. Returns how many nodes were visited for that.
    func match(_ key: Span<UInt8>, into found: inout List<SubscriptionHandle>) -> Int {
        var visits = 0
        for place in trees.indices { visits += trees[place].tree.match(key, into: &found) }
        return visits
    }

    private func tree(of user: UInt32) -> PatternTree<SubscriptionHandle>? {
        trees.first { $0.user == user }?.tree
    }

    /// `standing` counts who says that they have a pattern.
    func checkInvariants(standing: Int) throws(BrokenInvariant) {
        var found = 0
        for (_, tree) in trees { found += try tree.checkInvariants() }
        try Invariants(of: "PatternTree").agree("nobody stands there who is gone", found, standing)
    }
}
