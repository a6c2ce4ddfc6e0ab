// The structure of a value: a list of its parts in document order, made in one pass. With two outlines,
// values are compared without reading anything twice. An outline only has offsets, so its owner passes
// the same bytes with each question.

import PlugboardMemory

/// The outline of one value. Node 0 is the value itself. A member of an object has two nodes: its name
/// and its value.
public struct JSONOutline: ~Copyable {
    public enum Kind {
        case object, array, string, number, literal
    }

    struct Node: BitwiseCopyable {
        var start: UInt32
        var end: UInt32
        /// The node after this one and everything in it. While this node isn't closed: its parent.
        var next: UInt32
        /// In an object or array: the number of members or elements. In a name: what `setPartner` set.
        var count: UInt32 = 0
    }

    private var nodes = List<Node>()
    /// An emptied list keeps memory for this many elements.
    static let keptMax = 16_384

    init() {}

    /// Outlines a part of a line. `offset` is its place in the line. Throws `bad_json`, `bad_utf8` or
    /// `too_deep`.
    public init(_ text: Span<UInt8>, at offset: Int) throws(Refusal) {
        do throws(JSONFailure) {
            try fill(text)
        } catch {
            throw Refusal(JSONFailure(error.kind, at: offset + error.offset, error.reason))
        }
    }

    /// Outlines another value. If the bytes are not JSON, or have more nodes, returns false and is empty.
    mutating func read(_ text: Span<UInt8>, nodesMax: Int = .max) -> Bool {
        do throws(JSONFailure) {
            if try fill(text, nodesMax: nodesMax) { return true }
            removeAll()
            return false
        } catch {
            // Only values that the scanner accepted are stored. Anything else equals nothing.
            removeAll()
            return false
        }
    }

    /// Forgets the value.
    mutating func removeAll() {
        nodes.removeAll(keeping: Self.keptMax)
    }

    // MARK: Nodes

    var count: Int { nodes.count }

    public func kind(_ node: Int, of text: Span<UInt8>) -> Kind {
        Self.kind(of: bytes(node, of: text))
    }

    /// The kind of a value that the scanner accepted. It has no white space at the beginning.
    static func kind(of value: Span<UInt8>) -> Kind {
        switch value.first {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): .literal
        default: .number
        }
    }

    /// How deep a value that the scanner accepted is nested; `[` alone is 1 deep.
    static func depth(of value: Span<UInt8>) -> Int {
        var scanner = JSONScanner(value)
        var (depth, deepest) = (0, 0)
        while !scanner.isAtEnd {
            let byte = scanner.current
            scanner.position += 1
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "\""): _ = try? scanner.skipString()
            default: break
            }
            deepest = max(deepest, depth)
        }
        return deepest
    }

    @_lifetime(copy text)
    public func bytes(_ node: Int, of text: Span<UInt8>) -> Span<UInt8> {
        let node = nodes[node]
        return text[Int(node.start)..<Int(node.end)]
    }

    /// The spelling of a string or a name, without its quotes.
    @_lifetime(copy text)
    public func characters(_ node: Int, of text: Span<UInt8>) -> Span<UInt8> {
        bytes(node, of: text).characters
    }

    /// The place of a node in the value.
    public func range(_ node: Int) -> ByteRange {
        ByteRange(Int(nodes[node].start), Int(nodes[node].end))
    }

    /// The offset of a node in the value.
    public func start(_ node: Int) -> Int { Int(nodes[node].start) }

    /// The node after this one and everything in it. The node after a name is its value.
    public func next(_ node: Int) -> Int { Int(nodes[node].next) }

    /// The number of members or elements. The first one is the node after `node`.
    public func childCount(_ node: Int) -> Int { Int(nodes[node].count) }

    func partner(_ name: Int) -> Int { Int(nodes[name].count) }

    mutating func setPartner(_ name: Int, _ partner: Int) {
        nodes[name].count = UInt32(truncatingIfNeeded: partner)
    }

    // MARK: Reading

    /// The place that reading has reached.
    private struct Reading: ~Escapable {
        var scanner: JSONScanner
        /// The innermost node that isn't closed yet.
        var open = JSONOutline.none
        var depth = 0

        @_lifetime(copy text)
        init(_ text: Span<UInt8>) {
            scanner = JSONScanner(text)
        }
    }

    private static let none = UInt32.max

    /// Returns false if there are more nodes.
    @discardableResult
    private mutating func fill(_ text: Span<UInt8>, nodesMax: Int = .max) throws(JSONFailure) -> Bool {
        removeAll()
        var reading = Reading(text)
        reading.scanner.skipWhitespace()
        repeat {
            let node = nodes.count
            let start = UInt32(truncatingIfNeeded: reading.scanner.position)
            nodes.append(Node(start: start, end: start, next: reading.open))
            if try enter(node, &reading) { continue }
            finish(node, reading.scanner.position)
            try closeFinished(&reading, text)
            if nodes.count > nodesMax { return false }
        } while reading.open != Self.none
        return true
    }

    /// Moves past a scalar or an empty container, and returns false. Or moves into a container to its
    /// first value, and returns true.
    private mutating func enter(_ node: Int, _ reading: inout Reading) throws(JSONFailure) -> Bool {
        let closing = JSONScanner.closing(reading.scanner.current)
        guard closing != 0 else {
            try reading.scanner.skipValue()
            return false
        }
        guard reading.depth < Limits.depthMax else {
            throw JSONFailure(.depth, at: reading.scanner.position, "less nesting")
        }
        guard reading.scanner.enter() else { return false }
        reading.depth += 1
        reading.open = UInt32(truncatingIfNeeded: node)
        if closing == UInt8(ascii: "}") { try readName(&reading) }
        return true
    }

    /// Call it after a value. Moves past the comma to the next value, or past closing brackets.
    private mutating func closeFinished(_ reading: inout Reading, _ text: Span<UInt8>) throws(JSONFailure) {
        while reading.open != Self.none {
            let open = Int(reading.open)
            let closing = JSONScanner.closing(text[start(open)])
            nodes[open].count += 1
            if try reading.scanner.goOn(to: closing) {
                if closing == UInt8(ascii: "}") { try readName(&reading) }
                return
            }
            reading.open = nodes[open].next
            reading.depth -= 1
            finish(open, reading.scanner.position)
        }
    }

    /// Moves past a member's name and its colon.
    private mutating func readName(_ reading: inout Reading) throws(JSONFailure) {
        let name = try reading.scanner.readName()
        nodes.append(Node(start: UInt32(truncatingIfNeeded: name.start - 1), end: 0, next: 0))
        finish(nodes.count - 1, name.end + 1)
    }

    private mutating func finish(_ node: Int, _ end: Int) {
        nodes[node].end = UInt32(truncatingIfNeeded: end)
        nodes[node].next = UInt32(truncatingIfNeeded: nodes.count)
    }
}
