// A value about which several observers with different filters are asked. For the second of them it is read into
// an outline, in which pointers are followed without reading the value again.

import PlugboardMemory

/// A value and, if it was asked about before, its outline. Its owner passes the same bytes with each question.
struct AskedValue: ~Copyable {
    /// A value with more parts, names included, is searched again each time: its outline would take up too much memory.
    static let nodesMax = 262_144
    /// From so many members or elements on, they are found by name or number and not one after another. This is so
    /// in one object or array of a value, the first in which something is looked for.
    static let contentsMin = 64
    private var outline = JSONOutline()
    /// Whether the value was read, and whether it has an outline.
    private var (isRead, isOutlined) = (false, false)
    /// Whether a name or a string may have escapes.
    private var hasEscapes = false
    /// The object or array whose contents are found by name or number; −1 if there is none.
    private var indexed = -1
    private var names = JSONNames()
    private var elements = List<UInt32>()
    /// The pointer that was followed last, if its set has no other, where it led, and a bit if it did: many ask
    /// about the same part.
    private var followed = ByteBuffer()
    private var end = (place: ByteRange.none, found: UInt64(0))

    init() {}

    /// Forgets the value.
    mutating func forget() {
        if isRead { outline.removeAll() }
        if indexed >= 0 {
            names.removeAll()
            elements.removeAll(keeping: JSONOutline.keptMax)
        }
        (isRead, isOutlined, indexed) = (false, false, -1)
        followed.removeAll()
    }

    /// Reads the value, unless that was done. Returns whether it has an outline.
    mutating func read(_ value: Span<UInt8>) -> Bool {
        if isRead { return isOutlined }
        isRead = true
        isOutlined = outline.read(value, nodesMax: Self.nodesMax)
        hasEscapes = value.contains(UInt8(ascii: "\\"))
        return isOutlined
    }

    /// Writes the places of the parts that pointers name, and returns a bit for each that names one. `alone` is
    /// the pointer as a JSON string if there is only one, otherwise empty. Call it after `read` has returned true.
    mutating func find(
        _ tree: PointerTree, alone: Span<UInt8>, in value: Span<UInt8>, _ places: inout MutableSpan<ByteRange>
    ) -> UInt64 {
        if !alone.isEmpty, alone.isEqual(to: followed.bytes) {
            places[0] = end.place
            return end.found
        }
        var found: UInt64 = 0
        visit(0, at: 0, tree, value, &found, &places)
        if !alone.isEmpty {
            followed.removeAll()
            followed.append(alone)
            end = (places[0], found)
        }
        return found
    }

    /// Notes the value at a node of the outline for the pointers at a node of their tree.
    private mutating func visit(
        _ token: Int,
        at node: Int,
        _ tree: PointerTree,
        _ value: Span<UInt8>,
        _ found: inout UInt64,
        _ places: inout MutableSpan<ByteRange>
    ) {
        if tree.nodes[token].firstChild >= 0 {
            let kind = outline.kind(node, of: value)
            if kind == .object || kind == .array {
                visitContents(token, of: node, isObject: kind == .object, tree, value, &found, &places)
            }
        }
        let pointer = tree.nodes[token].pointer
        guard pointer >= 0 else { return }
        places[pointer] = outline.range(node)
        found |= 1 << UInt64(pointer)
    }

    private mutating func visitContents(
        _ token: Int,
        of node: Int,
        isObject: Bool,
        _ tree: PointerTree,
        _ value: Span<UInt8>,
        _ found: inout UInt64,
        _ places: inout MutableSpan<ByteRange>
    ) {
        if isIndexed(node, isObject: isObject, value) {
            var child = tree.nodes[token].firstChild
            while child >= 0 {
                let content = content(isObject: isObject, child, tree, value)
                if let content { visit(child, at: content, tree, value, &found, &places) }
                child = tree.nodes[child].nextSibling
            }
            return
        }
        var next = node + 1
        for element in 0..<outline.childCount(node) {
            let child =
                isObject
                ? self.child(of: token, named: outline.characters(next, of: value), tree)
                : tree.child(of: token, at: element)
            if isObject { next += 1 }
            if child >= 0 {
                // If a name occurs twice, its last member replaces the earlier ones.
                found &= ~tree.nodes[child].covered
                visit(child, at: next, tree, value, &found, &places)
            }
            next = outline.next(next)
        }
    }

    private func child(of token: Int, named name: Span<UInt8>, _ tree: PointerTree) -> Int {
        hasEscapes ? tree.child(of: token, named: name) : tree.child(of: token, plainlyNamed: name)
    }

    // MARK: Large objects and arrays

    /// Whether the contents of an object or array are found by name or number. The first large one becomes so.
    private mutating func isIndexed(_ node: Int, isObject: Bool, _ value: Span<UInt8>) -> Bool {
        if indexed == node { return true }
        guard indexed < 0, outline.childCount(node) >= Self.contentsMin else { return false }
        indexed = node
        if isObject {
            names.fill(node, of: outline, value)
        } else {
            var element = node + 1
            for _ in 0..<outline.childCount(node) {
                elements.append(UInt32(truncatingIfNeeded: element))
                element = outline.next(element)
            }
        }
        return true
    }

    /// The member or element of the indexed object or array to which a token leads.
    private func content(isObject: Bool, _ token: Int, _ tree: PointerTree, _ value: Span<UInt8>) -> Int? {
        if isObject { return names.find(tree.characters(token), in: outline, value).map { $0 + 1 } }
        let element = tree.nodes[token].element
        return elements.indices.contains(element) ? Int(elements[element]) : nil
    }
}
