// All that is served, by tokens: a key finds its server by walking its own tokens. At
// each token, from the left, the token itself goes before `*`, and `*` before `**`; so
// the first server that is found is the most specific.

import PlugboardMemory
import PlugboardWire

/// A token's node: where served patterns pass through or end.
private final class ServiceNode {
    let token: [UInt8]
    unowned let parent: ServiceNode?
    /// Those with a token of their own, by its hash.
    private var children: [UInt64: [ServiceNode]] = [:]
    /// The child for `*`.
    var anyToken: ServiceNode?
    /// The child for a last `**`.
    var anyTail: ServiceNode?
    /// What is served by the pattern that ends here.
    var service: Service?

    init(token: Span<UInt8>, parent: ServiceNode?) {
        self.token = Array(token)
        self.parent = parent
    }

    func child(_ token: Span<UInt8>) -> ServiceNode? {
        children[token.seededHash]?.first { token.isEqual(to: $0.token) }
    }

    func add(_ child: ServiceNode) {
        children[child.token.seededHash, default: []].append(child)
    }

    func remove(_ child: ServiceNode) {
        let hash = child.token.seededHash
        children[hash]?.removeAll { $0 === child }
        if children[hash]?.isEmpty == true { children[hash] = nil }
    }

    var all: [ServiceNode] { children.values.flatMap { $0 } + [anyToken, anyTail].compactMap { $0 } }

    var isUnused: Bool { service == nil && children.isEmpty && anyToken == nil && anyTail == nil }
}

/// The services of a bus. Owns them.
final class ServiceTree {
    private let root = ServiceNode(token: Span(), parent: nil)

    /// Who serves just this pattern.
    func find(pattern: Span<UInt8>) -> Service? {
        node(of: pattern)?.service
    }

    /// Who is to answer a call of a well-formed key.
    func server(of key: Span<UInt8>) -> Service? {
        visit(root, Tokens(key))
    }

    /// Adds a service at a well-formed pattern that nobody serves yet.
    func insert(_ pattern: Span<UInt8>, _ session: SessionHandle) -> Service {
        var node = root
        var tokens = Tokens(pattern)
        while let token = tokens.next() { node = child(of: node, token) }
        let service = Service(pattern: pattern, session: session)
        node.service = service
        return service
    }

    /// Takes a service out, with the nodes that nothing else needs.
    func remove(_ service: Service) {
        var unused = node(of: service.pattern)
        unused?.service = nil
        while let node = unused, node.isUnused, let parent = node.parent {
            detach(node, from: parent)
            unused = parent
        }
    }

    private func visit(_ node: ServiceNode, _ tokens: Tokens) -> Service? {
        var rest = tokens
        if let token = rest.next() {
            if let child = node.child(token), let found = visit(child, rest) {
                return found
            }
            if let star = node.anyToken, token[0] != UInt8(ascii: "$"), let found = visit(star, rest) {
                return found
            }
        } else if let service = node.service {
            return service
        }
        guard let tail = node.anyTail, Self.hasNoReserved(tokens) else { return nil }
        return tail.service
    }

    private static func hasNoReserved(_ tokens: Tokens) -> Bool {
        var rest = tokens
        while let token = rest.next() {
            if token[0] == UInt8(ascii: "$") { return false }
        }
        return true
    }

    private func node(of pattern: Span<UInt8>) -> ServiceNode? {
        var node: ServiceNode? = root
        var tokens = Tokens(pattern)
        while let token = tokens.next(), let parent = node { node = existingChild(of: parent, token) }
        return node
    }

    private func child(of node: ServiceNode, _ token: Span<UInt8>) -> ServiceNode {
        if let existing = existingChild(of: node, token) { return existing }
        let child = ServiceNode(token: token, parent: node)
        switch Self.wildcard(token) {
        case .one: node.anyToken = child
        case .tail: node.anyTail = child
        case nil: node.add(child)
        }
        return child
    }

    private func existingChild(of node: ServiceNode, _ token: Span<UInt8>) -> ServiceNode? {
        switch Self.wildcard(token) {
        case .one: node.anyToken
        case .tail: node.anyTail
        case nil: node.child(token)
        }
    }

    private func detach(_ node: ServiceNode, from parent: ServiceNode) {
        switch Self.wildcard(node.token) {
        case .one: parent.anyToken = nil
        case .tail: parent.anyTail = nil
        case nil: parent.remove(node)
        }
    }

    private enum Wildcard { case one, tail }

    private static func wildcard(_ token: [UInt8]) -> Wildcard? { wildcard(token.span) }

    private static func wildcard(_ token: Span<UInt8>) -> Wildcard? {
        guard token[0] == UInt8(ascii: "*") else { return nil }
        return token.count == 1 ? .one : .tail
    }
}

extension ServiceTree {
    private static var always: Invariants { Invariants(of: "ServiceTree") }

    /// Each service stands at its pattern, and is known to who serves.
    func checkInvariants(
        _ living: borrowing Living,
        _ sessions: borrowing SessionTable
    ) throws(BrokenInvariant) {
        var known = 0
        for session in living.sessions {
            guard let duties = sessions[session].duties else { continue }
            for (place, service) in duties.services.enumerated() {
                known += 1
                try standsAtItsPattern(service, of: session, place: place)
            }
        }
        let found = try count(below: root)
        try Self.always.agree("it has no others", found, known)
    }

    private func standsAtItsPattern(
        _ service: Service,
        of session: SessionHandle,
        place: Int
    ) throws(BrokenInvariant) {
        let pattern = service.pattern
        let isItsOwn = service.session == session && service.place == place
        try Self.always.hold("a service knows its place", isItsOwn, of: String(pattern))
        let isFound = find(pattern: pattern) === service
        try Self.always.hold("a service stands at its pattern", isFound, of: String(pattern))
    }

    private func count(below node: ServiceNode) throws(BrokenInvariant) -> Int {
        var count = node.service == nil ? 0 : 1
        for child in node.all {
            let bytes = child.token
            let token = String(bytes.span)
            try Self.always.hold("a node is needed", !child.isUnused && child.parent === node, of: token)
            count += try self.count(below: child)
        }
        return count
    }
}
