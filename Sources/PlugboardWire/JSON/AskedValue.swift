// A value about which several observers with different filters are asked. For the second of them it is read into
// an outline, in which pointers are followed without reading the value again.

import PlugboardMemory

/// A value and, if it was asked about before, its outline. Its owner passes the same bytes with each question.
struct AskedValue: ~Copyable {
    /// Longer values are searched again each time: their outlines would take up too much memory.
    static let bytesMax = 65_536
    private var outline = JSONOutline()
    /// Whether the value was read, and whether it has an outline.
    private var (isRead, isOutlined) = (false, false)
    /// Whether a name or a string may have escapes.
    private var hasEscapes = false
    /// The pointer that was followed last, if its set has no other, where it led, and a bit if it did: many ask
    /// about the same part.
    private var followed = ByteBuffer()
    private var end = (place: ByteRange.none, found: UInt64(0))

    init() {}

    /// Forgets the value.
    mutating func forget() {
        if isRead { outline.removeAll() }
        (isRead, isOutlined) = (false, false)
        followed.removeAll()
    }

    /// Reads the value, unless that was done. Returns whether it has an outline.
    mutating func read(_ value: Span<UInt8>) -> Bool {
        if isRead { return isOutlined }
        isRead = true
        isOutlined = value.count <= Self.bytesMax && outline.read(value)
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
    private func visit(
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

    private func visitContents(
        _ token: Int,
        of node: Int,
        isObject: Bool,
        _ tree: PointerTree,
        _ value: Span<UInt8>,
        _ found: inout UInt64,
        _ places: inout MutableSpan<ByteRange>
    ) {
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
}
