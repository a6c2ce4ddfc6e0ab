// All that is served, by tokens: a key finds its server by walking its own tokens. At
// each token, from the left, the token itself goes before `*`, and `*` before `**`; so
// the first server that is found is the most specific.

import PlugboardWire

/// Bytes that somebody else keeps alive, compared by content.
private struct LentBytes: Hashable {
    let bytes: UnsafeRawBufferPointer

    static func == (left: LentBytes, right: LentBytes) -> Bool {
        left.bytes.count == right.bytes.count && left.bytes.elementsEqual(right.bytes)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(bytes: bytes)
    }
}

/// A token's node: where served patterns pass through or end.
private final class ServiceNode {
    let token: UnsafeMutableRawBufferPointer
    unowned(unsafe) let parent: ServiceNode?
    var children: [LentBytes: ServiceNode] = [:]
    /// The child for `*`.
    var anyToken: ServiceNode?
    /// The child for a last `**`.
    var anyTail: ServiceNode?
    /// What is served by the pattern that ends here.
    var service: ServiceReference?

    init(token: UnsafeRawBufferPointer, parent: ServiceNode?) {
        self.token = .allocate(byteCount: token.count, alignment: 1)
        self.token.copyMemory(from: token)
        self.parent = parent
    }

    deinit {
        token.deallocate()
    }

    var isUnused: Bool { service == nil && children.isEmpty && anyToken == nil && anyTail == nil }
}

/// The services of a bus. Owns them.
final class ServiceTree {
    private let root = ServiceNode(token: UnsafeRawBufferPointer(start: nil, count: 0), parent: nil)

    deinit {
        Self.destroyAll(below: root)
    }

    /// Who serves just this pattern.
    func find(pattern: UnsafeRawBufferPointer) -> ServiceReference? {
        node(of: pattern)?.service
    }

    /// Who is to answer a call of a well-formed key.
    func server(of key: UnsafeRawBufferPointer) -> ServiceReference? {
        visit(root, Tokens(key))
    }

    /// Adds a service at a well-formed pattern that nobody serves yet.
    func insert(_ pattern: UnsafeRawBufferPointer, _ session: SessionReference) -> ServiceReference {
        var node = root
        var tokens = Tokens(pattern)
        while let token = tokens.next() { node = child(of: node, token) }
        let service = ServiceReference.allocate(capacity: 1)
        service.initialize(to: Service(pattern: pattern, session: session))
        node.service = service
        return service
    }

    /// Takes a service out and frees it, with the nodes that nothing else needs.
    func remove(_ service: ServiceReference) {
        var unused = node(of: service.pointee.pattern)
        unused?.service = nil
        while let node = unused, node.isUnused, let parent = node.parent {
            detach(node, from: parent)
            unused = parent
        }
        Self.destroy(service)
    }

    private func visit(_ node: ServiceNode, _ tokens: Tokens) -> ServiceReference? {
        var rest = tokens
        if let token = rest.next() {
            if let child = node.children[LentBytes(bytes: token)], let found = visit(child, rest) {
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

    private func node(of pattern: UnsafeRawBufferPointer) -> ServiceNode? {
        var node: ServiceNode? = root
        var tokens = Tokens(pattern)
        while let token = tokens.next(), let parent = node { node = existingChild(of: parent, token) }
        return node
    }

    private func child(of node: ServiceNode, _ token: UnsafeRawBufferPointer) -> ServiceNode {
        if let existing = existingChild(of: node, token) { return existing }
        let child = ServiceNode(token: token, parent: node)
        switch Self.wildcard(token) {
        case .one: node.anyToken = child
        case .tail: node.anyTail = child
        case nil: node.children[LentBytes(bytes: UnsafeRawBufferPointer(child.token))] = child
        }
        return child
    }

    private func existingChild(of node: ServiceNode, _ token: UnsafeRawBufferPointer) -> ServiceNode? {
        switch Self.wildcard(token) {
        case .one: node.anyToken
        case .tail: node.anyTail
        case nil: node.children[LentBytes(bytes: token)]
        }
    }

    private func detach(_ node: ServiceNode, from parent: ServiceNode) {
        let token = UnsafeRawBufferPointer(node.token)
        switch Self.wildcard(token) {
        case .one: parent.anyToken = nil
        case .tail: parent.anyTail = nil
        case nil: parent.children[LentBytes(bytes: token)] = nil
        }
    }

    private enum Wildcard { case one, tail }

    private static func wildcard(_ token: UnsafeRawBufferPointer) -> Wildcard? {
        guard token[0] == UInt8(ascii: "*") else { return nil }
        return token.count == 1 ? .one : .tail
    }

    private static func destroyAll(below node: ServiceNode) {
        if let service = node.service { destroy(service) }
        for child in node.children.values { destroyAll(below: child) }
        for child in [node.anyToken, node.anyTail] { child.map(destroyAll) }
    }

    private static func destroy(_ service: ServiceReference) {
        service.deinitialize(count: 1)
        service.deallocate()
    }
}
