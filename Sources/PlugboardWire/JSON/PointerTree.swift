// The tokens of a set of JSON Pointers, to follow them from a value to its parts.

import PlugboardMemory

/// The tree of a set's tokens. Node 0 is the whole value.
struct PointerTree: ~Escapable {
    let nodes: Span<JSONPointerSet.Node>
    /// The characters of all tokens.
    let tokens: Span<UInt8>

    @_lifetime(copy nodes, copy tokens)
    init(_ nodes: Span<JSONPointerSet.Node>, _ tokens: Span<UInt8>) {
        self.nodes = nodes
        self.tokens = tokens
    }

    /// The characters of a node's token.
    @_lifetime(copy self)
    func characters(_ node: Int) -> Span<UInt8> { nodes[node].token.bytes(of: tokens) }

    /// The node after `node` for the member with this name, as spelled; −1 if no pointer goes there.
    func child(of node: Int, named name: Span<UInt8>) -> Int {
        if name.contains(UInt8(ascii: "\\")) { return child(of: node, spelled: name) }
        return child(of: node, plainlyNamed: name)
    }

    /// The same for a name without escapes.
    func child(of node: Int, plainlyNamed name: Span<UInt8>) -> Int {
        var child = nodes[node].firstChild
        if child >= 0, nodes[child].nextSibling < 0 {
            return nodes[child].token.bytes(of: tokens).isEqual(to: name) ? child : -1
        }
        let mark = JSONPointerSet.mark(of: name)
        while child >= 0 {
            if nodes[child].mark == mark, nodes[child].token.bytes(of: tokens).isEqual(to: name) {
                return child
            }
            child = nodes[child].nextSibling
        }
        return -1
    }

    /// The same for a name with escapes.
    private func child(of node: Int, spelled name: Span<UInt8>) -> Int {
        var child = nodes[node].firstChild
        while child >= 0 {
            let token = nodes[child].token.bytes(of: tokens)
            if JSONCharacters.areEqual(name, characters: token) { return child }
            child = nodes[child].nextSibling
        }
        return -1
    }

    /// The node after `node` for the element with this index; −1 if no pointer goes there.
    func child(of node: Int, at element: Int) -> Int {
        var child = nodes[node].firstChild
        while child >= 0, nodes[child].element != element { child = nodes[child].nextSibling }
        return child
    }
}

extension JSONPointerSet {
    var tree: PointerTree {
        @_lifetime(borrow self)
        borrowing get { PointerTree(nodes.span, tokens.span) }
    }
}
