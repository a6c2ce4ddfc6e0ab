// Patterns as a tree of their tokens. A key finds its matching patterns by walking its own tokens, so the
// cost grows with the key, not with the number of patterns. Subscriptions and services have such trees.
//
// What always holds: each node except the root is found from its parent by its token, and a pattern ends at
// it or below it. Each node knows how many nodes a key can visit from it on.

import PlugboardMemory
import PlugboardWire

/// The node of a token: patterns pass through it or end here.
final class PatternNode<Entry> {
    fileprivate let token: [UInt8]
    fileprivate unowned let parent: PatternNode?
    /// Children with a literal token, by its hash.
    fileprivate private(set) var children: [UInt64: [PatternNode]] = [:]
    fileprivate private(set) var anyToken: PatternNode?
    /// The child for a last `**`.
    fileprivate private(set) var anyTail: PatternNode?
    /// The owners of the pattern that ends here.
    fileprivate(set) var entries: [Entry] = []
    /// How many nodes a key visits at most, here and below. A key follows at most one child with a literal
    /// token, and the child for `*`. So only patterns with different wildcards make this grow.
    fileprivate private(set) var steps = 1
    /// How many children with a literal token have so many steps. The last of these is not 0.
    private var childrenBySteps: [Int32] = []
    /// The largest number of any child with a literal token.
    private var childSteps: Int { max(0, childrenBySteps.count - 1) }

    fileprivate init(token: Span<UInt8>, parent: PatternNode?) {
        self.token = Array(token)
        self.parent = parent
    }

    var pattern: [UInt8] {
        guard let parent, parent.parent != nil else { return token }
        return parent.pattern + [UInt8(ascii: ".")] + token
    }

    /// The child for a token of a pattern.
    fileprivate func child(_ token: Span<UInt8>) -> PatternNode? {
        switch Wildcard(token) {
        case .one: anyToken
        case .tail: anyTail
        case .none: child(token, hash: token.seededHash)
        }
    }

    fileprivate func child(_ token: Span<UInt8>, hash: UInt64) -> PatternNode? {
        children[hash]?.first { token.isEqual(to: $0.token) }
    }

    fileprivate func makeChild(_ token: Span<UInt8>) -> PatternNode {
        let child = PatternNode(token: token, parent: self)
        switch Wildcard(token) {
        case .one: anyToken = child
        case .tail: anyTail = child
        case .none:
            children[token.seededHash, default: []].append(child)
            updateChildSteps(from: 0, to: child.steps)
        }
        countSteps()
        return child
    }

    fileprivate func remove(_ child: PatternNode) {
        let token = child.token
        switch Wildcard(token.span) {
        case .one: anyToken = nil
        case .tail: anyTail = nil
        case .none:
            let hash = token.seededHash
            children[hash]?.removeAll { $0 === child }
            if children[hash]?.isEmpty == true { children[hash] = nil }
            updateChildSteps(from: child.steps, to: 0)
        }
        countSteps()
    }

    // MARK: Steps

    /// Counts the steps anew, here and above, after a change below.
    private func countSteps() {
        var node = self
        while true {
            let before = node.steps
            node.steps = 1 + node.childSteps + (node.anyToken?.steps ?? 0) + (node.anyTail == nil ? 0 : 1)
            guard node.steps != before, let parent = node.parent else { return }
            if parent.anyToken !== node { parent.updateChildSteps(from: before, to: node.steps) }
            node = parent
        }
    }

    /// A child with a literal token has another number of steps; 0 if it doesn't exist.
    private func updateChildSteps(from before: Int, to steps: Int) {
        while childrenBySteps.count <= steps { childrenBySteps.append(0) }
        if steps > 0 { childrenBySteps[steps] += 1 }
        if before > 0 { childrenBySteps[before] -= 1 }
        while childrenBySteps.last == 0 { childrenBySteps.removeLast() }
    }

    fileprivate var all: [PatternNode] {
        children.values.flatMap { $0 } + [anyToken, anyTail].compactMap { $0 }
    }

    /// The same as `steps`, counted anew from the children.
    fileprivate var countedSteps: Int {
        let literal = children.values.flatMap { $0.map(\.steps) }.max() ?? 0
        return 1 + literal + (anyToken?.steps ?? 0) + (anyTail == nil ? 0 : 1)
    }

    fileprivate var isUnused: Bool {
        entries.isEmpty && children.isEmpty && anyToken == nil && anyTail == nil
    }
}

final class PatternTree<Entry> {
    private typealias Node = PatternNode<Entry>
    private let root = Node(token: Span(), parent: nil)
    /// The hashes of the tokens of the key that is searched, made once for all nodes.
    private var hashes = List<UInt64>()

    var steps: Int { root.steps }

    var isEmpty: Bool { root.isUnused }

    /// Adds an entry, which may know its node, at a well-formed pattern: behind the others of that node. Returns the
    /// node.
    @discardableResult
    func insert(_ pattern: Span<UInt8>, _ make: (PatternNode<Entry>) -> Entry) -> PatternNode<Entry> {
        var node = root
        var tokens = Tokens(pattern)
        while let token = tokens.next() {
            let parent = node
            node = parent.child(token) ?? parent.makeChild(token)
        }
        node.entries.append(make(node))
        return node
    }

    /// Removes the entry at `index` of a node, and nodes that nothing needs. Returns the entry that moved to
    /// this place, if any, for the caller to note.
    @discardableResult
    func remove(at index: Int, from node: PatternNode<Entry>) -> Entry? {
        let last = node.entries.removeLast()
        let isMoved = index < node.entries.count
        if isMoved { node.entries[index] = last }
        removeUnused(node)
        return isMoved ? last : nil
    }

    /// Removes the newest entry that is wanted gone; the others keep their order. Returns how many it looked at.
    @discardableResult
    func remove(from node: PatternNode<Entry>, newest isGone: (Entry) -> Bool) -> Int {
        guard let place = node.entries.lastIndex(where: isGone) else { return 0 }
        let looks = node.entries.count - place
        node.entries.remove(at: place)
        removeUnused(node)
        return looks
    }

    private func removeUnused(_ node: Node) {
        var unused = node
        while unused.isUnused, let parent = unused.parent {
            parent.remove(unused)
            unused = parent
        }
    }

    /// The node at which exactly this pattern ends.
    func node(of pattern: Span<UInt8>) -> PatternNode<Entry>? {
        var node: Node? = root
        var tokens = Tokens(pattern)
        while let token = tokens.next(), let parent = node { node = parent.child(token) }
        return node
    }

    func hasBranch(_ token: String) -> Bool { root.child(Array(token.utf8).span) != nil }

    /// Shows the nodes at which matching patterns end: for the same patterns in the same order. Returns the number of
    /// visited nodes.
    @discardableResult
    func match(_ key: Span<UInt8>, _ body: (PatternNode<Entry>) -> Void) -> Int {
        if root.isUnused { return 0 }
        var visits = 0
        search(key, &visits) { node in
            body(node)
            return false
        }
        return visits
    }

    /// The entry of the most specific matching pattern. At each token, from the left, the token itself goes
    /// before `*`, and `*` before `**`.
    func first(matching key: Span<UInt8>) -> Entry? {
        var found: Entry?
        var visits = 0
        search(key, &visits) { node in
            found = node.entries.first
            return true
        }
        return found
    }

    /// Visits the nodes at which matching patterns end, the most specific first, until `body` returns true.
    private func search(_ key: Span<UInt8>, _ visits: inout Int, _ body: (Node) -> Bool) {
        hashes.removeAll()
        var tokens = Tokens(key)
        while let token = tokens.next() { hashes.append(token.seededHash) }
        _ = visit(root, Tokens(key), &visits, body)
    }

    /// Visits a node, and those below it, with the tokens that are left. Returns whether `body` did.
    private func visit(_ node: Node, _ tokens: Tokens, _ visits: inout Int, _ body: (Node) -> Bool) -> Bool {
        visits += 1
        var rest = tokens
        if let token = rest.next() {
            if !node.children.isEmpty, let child = node.child(token, hash: hashes[tokens.passed]),
                visit(child, rest, &visits, body)
            {
                return true
            }
            if let star = node.anyToken, token[0] != UInt8(ascii: "$"), visit(star, rest, &visits, body) {
                return true
            }
        } else if !node.entries.isEmpty, body(node) {
            return true
        }
        guard let tail = node.anyTail, Self.hasNoReserved(tokens) else { return false }
        return body(tail)
    }

    private static func hasNoReserved(_ tokens: Tokens) -> Bool {
        var rest = tokens
        while let token = rest.next() {
            if token[0] == UInt8(ascii: "$") { return false }
        }
        return true
    }
}

/// What a token of a pattern stands for; `none` is a literal token.
private enum Wildcard {
    case none, one, tail

    init(_ token: Span<UInt8>) {
        if token[0] != UInt8(ascii: "*") { self = .none } else { self = token.count == 1 ? .one : .tail }
    }
}

extension PatternTree: Checked {
    /// Each node is found by its token and is needed. Returns the number of entries.
    func checkInvariants() throws(BrokenInvariant) -> Int { try count(below: root) }

    private func count(below node: Node) throws(BrokenInvariant) -> Int {
        try Self.always.agree("a node knows its steps", node.steps, node.countedSteps)
        var count = node.entries.count
        for child in node.all {
            let bytes = child.token
            let isItsOwn = child.parent === node && node.child(bytes.span) === child
            try Self.always.hold("a node is found by its token", isItsOwn, of: String(bytes.span))
            try Self.always.hold("a node is needed", !child.isUnused, of: String(bytes.span))
            count += try self.count(below: child)
        }
        return count
    }
}

/// Patterns that keys are held against: those of a request, or of a policy's rule.
final class PatternSet {
    let all: [[UInt8]]
    /// Made when it is first asked: with very many patterns, to try each of them takes too long.
    private lazy var tree = {
        let tree = PatternTree<Void>()
        for pattern in all { tree.insert(pattern.span) { _ in } }
        return tree
    }()
    /// To try so many takes no longer than to look a key up.
    private static let triedMax = 8
    private var visits = 0

    init(_ all: [[UInt8]]) { self.all = all }

    func match(_ key: Span<UInt8>) -> Bool {
        if all.count <= Self.triedMax {
            visits += all.count
            return all.contains { Pattern.matches($0.span, key) }
        }
        var isFound = false
        visits += 1 + tree.match(key) { _ in isFound = true }
        return isFound
    }

    /// Whether one of them matches all keys that a pattern matches.
    func cover(_ pattern: Span<UInt8>) -> Bool { all.contains { Pattern.covers($0.span, pattern) } }

    /// Whether some keys that a pattern matches are matched.
    func overlap(_ pattern: Span<UInt8>) -> Bool { all.contains { Pattern.overlaps($0.span, pattern) } }

    /// How many patterns were held against keys since the last call.
    func takeVisits() -> Int {
        defer { visits = 0 }
        return visits
    }
}

// The patterns that are observed: a tree for each user. So one user's patterns don't make those of others
// expensive, and the nodes that a key visits are limited for each user.

struct UserPatterns: Checked {
    /// Most buses have one user.
    private var trees: [(user: UInt32, tree: PatternTree<SubscriptionHandle>)] = []

    func steps(of user: UInt32) -> Int { tree(of: user)?.steps ?? 0 }

    /// Adds a subscription of a user at a well-formed pattern. Returns its place.
    mutating func insert(_ pattern: Span<UInt8>, _ subscription: SubscriptionHandle, of user: UInt32)
        -> PatternPlace
    {
        if tree(of: user) == nil { trees.append((user, PatternTree())) }
        let node = (tree(of: user) ?? PatternTree()).insert(pattern) { _ in subscription }
        return PatternPlace(node: node, index: Int32(node.entries.count - 1))
    }

    /// Returns the subscription that moved there, if any, for the caller to note.
    mutating func remove(_ place: PatternPlace, of user: UInt32) -> SubscriptionHandle? {
        guard let tree = tree(of: user) else { return nil }
        let moved = tree.remove(at: Int(place.index), from: place.node)
        if tree.isEmpty { trees.removeAll { $0.user == user } }
        return moved
    }

    func hasBranch(_ token: String) -> Bool { trees.contains { $0.tree.hasBranch(token) } }

    /// Appends the ends of all matching patterns. Returns the number of visited nodes.
    func match(_ key: Span<UInt8>, into ends: inout [PatternNode<SubscriptionHandle>]) -> Int {
        trees.reduce(0) { $0 + $1.tree.match(key) { ends.append($0) } }
    }

    private func tree(of user: UInt32) -> PatternTree<SubscriptionHandle>? {
        trees.first { $0.user == user }?.tree
    }

    /// `standing` is how many places subscriptions say they have.
    func checkInvariants(standing: Int) throws(BrokenInvariant) {
        var found = 0
        for (_, tree) in trees { found += try tree.checkInvariants() }
        try Self.always.agree("nobody stands there who is gone", found, standing)
    }
}
