// Patterns by their tokens, so that a key finds those that match by walking its own
// tokens: the cost grows with the key, not with the number of subscriptions.

import PlugboardMemory
import PlugboardWire

/// A token's node: where patterns pass through or end.
final class PatternNode {
    fileprivate let token: [UInt8]
    fileprivate unowned let parent: PatternNode?
    fileprivate var children: [[UInt8]: PatternNode] = [:]
    /// The child for `*`.
    fileprivate var anyToken: PatternNode?
    /// The child for a last `**`.
    fileprivate var anyTail: PatternNode?
    /// The subscriptions whose pattern ends here.
    fileprivate var subscriptions: [SubscriptionHandle] = []

    fileprivate init(token: [UInt8], parent: PatternNode?) {
        self.token = token
        self.parent = parent
    }

    /// Adds the pattern that ends here.
    func appendPattern(to buffer: inout ByteBuffer) {
        guard let parent else { return }
        if parent.parent != nil {
            parent.appendPattern(to: &buffer)
            buffer.append(".")
        }
        let token = token
        buffer.append(token.span)
    }

    fileprivate var isUnused: Bool {
        subscriptions.isEmpty && children.isEmpty && anyToken == nil && anyTail == nil
    }
}

/// All patterns with wildcards.
final class PatternTree {
    private let root = PatternNode(token: [], parent: nil)
    /// Grows with each change: what was found before is then out of date.
    private(set) var generation: UInt64 = 1

    /// Adds a subscription at a well-formed pattern; returns where, for `remove`.
    func insert(_ pattern: Span<UInt8>, _ subscription: SubscriptionHandle)
        -> (node: PatternNode, index: Int)
    {
        var node = root
        var tokens = Tokens(pattern)
        while let token = tokens.next() { node = child(of: node, Array(token)) }
        node.subscriptions.append(subscription)
        generation += 1
        return (node, node.subscriptions.count - 1)
    }

    /// Removes the subscription at `index` of a node, and nodes that nothing needs.
    /// Returns the one that took its place, if any: it has to be told.
    func remove(at index: Int, from node: PatternNode) -> SubscriptionHandle? {
        generation += 1
        let last = node.subscriptions.removeLast()
        let isMoved = index < node.subscriptions.count
        if isMoved { node.subscriptions[index] = last }
        var unused = node
        while unused.isUnused, let parent = unused.parent {
            detach(unused, from: parent)
            unused = parent
        }
        return isMoved ? last : nil
    }

    /// What was found before is out of date, though no pattern came or went.
    func outdate() {
        generation += 1
    }

    /// Whether a pattern begins with this token.
    func hasBranch(_ token: String) -> Bool {
        root.children[Array(token.utf8)] != nil
    }

    /// Adds every subscription with a matching pattern to `found`; one whose patterns
    /// overlap may be added more than once.
    func match(_ key: Span<UInt8>, into found: inout List<SubscriptionHandle>) {
        guard !root.isUnused else { return }
        visit(root, Tokens(key), into: &found)
    }

    private func visit(_ node: PatternNode, _ tokens: Tokens, into found: inout List<SubscriptionHandle>) {
        if let tail = node.anyTail, Self.hasNoReserved(tokens) { Self.collect(tail, into: &found) }
        var rest = tokens
        guard let token = rest.next() else { return Self.collect(node, into: &found) }
        if let star = node.anyToken, token[0] != UInt8(ascii: "$") {
            visit(star, rest, into: &found)
        }
        if !node.children.isEmpty, let child = node.children[Array(token)] {
            visit(child, rest, into: &found)
        }
    }

    private static func hasNoReserved(_ tokens: Tokens) -> Bool {
        var rest = tokens
        while let token = rest.next() {
            if token[0] == UInt8(ascii: "$") { return false }
        }
        return true
    }

    private static func collect(_ node: PatternNode, into found: inout List<SubscriptionHandle>) {
        for subscription in node.subscriptions { found.append(subscription) }
    }

    private func child(of node: PatternNode, _ token: [UInt8]) -> PatternNode {
        if let existing = existingChild(of: node, token) { return existing }
        let child = PatternNode(token: token, parent: node)
        switch token {
        case Self.star: node.anyToken = child
        case Self.doubleStar: node.anyTail = child
        default: node.children[token] = child
        }
        return child
    }

    private func existingChild(of node: PatternNode, _ token: [UInt8]) -> PatternNode? {
        switch token {
        case Self.star: node.anyToken
        case Self.doubleStar: node.anyTail
        default: node.children[token]
        }
    }

    private func detach(_ node: PatternNode, from parent: PatternNode) {
        switch node.token {
        case Self.star: parent.anyToken = nil
        case Self.doubleStar: parent.anyTail = nil
        default: parent.children[node.token] = nil
        }
    }

    private static let star = Array("*".utf8)
    private static let doubleStar = Array("**".utf8)
}

extension PatternTree {
    private static var always: Invariants { Invariants(of: "PatternTree") }

    /// Each subscription stands at the ends of its patterns, and nobody else does.
    func checkInvariants(
        _ living: borrowing Living,
        _ matching: borrowing Matching
    ) throws(BrokenInvariant) {
        var places = 0
        for subscription in living.subscriptions {
            places += matching[subscription].patterns.count
            for place in matching[subscription].patterns {
                let node = place.node
                let index = Int(place.index)
                let isThere =
                    node.subscriptions.indices.contains(index) && node.subscriptions[index] == subscription
                try Self.always.hold("a subscription stands where it says", isThere)
            }
        }
        let found = try count(below: root)
        try Self.always.agree("nobody stands there who is gone", found, places)
    }

    private func count(below node: PatternNode) throws(BrokenInvariant) -> Int {
        var count = node.subscriptions.count
        let wild = [node.anyToken, node.anyTail].compactMap { $0 }
        for child in Array(node.children.values) + wild {
            let bytes = child.token
            let token = String(bytes.span)
            let isItsOwn = child.parent === node && existingChild(of: node, child.token) === child
            try Self.always.hold("a node is found by its token", isItsOwn, of: token)
            try Self.always.hold("a node is needed", !child.isUnused, of: token)
            count += try self.count(below: child)
        }
        return count
    }
}
