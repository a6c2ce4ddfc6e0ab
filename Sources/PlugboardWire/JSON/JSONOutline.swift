// What is in a value and where: a list of places in document order, made in one pass.
// With it any two values are compared without reading anything twice, and nothing is
// copied. Owned by who compares; it points into bytes that someone else keeps.

/// The outline of one value. Its nodes are numbered from 0, the value itself; a member of an
/// object is two nodes, its name and its value.
public struct JSONOutline: ~Copyable {
    public enum Kind {
        case object, array, string, number, literal
    }

    private struct Node: BitwiseCopyable {
        var start: UInt32
        var end: UInt32
        /// The node behind this one and all that is in it; while it is open, the one it is in.
        var next: UInt32
        /// Of an object or an array, how many it holds; of a name, what `setPartner` noted.
        var count: UInt32 = 0
    }

    private var nodes = Scratch<Node>()
    private var names = Scratch<SortedName>()
    private var text = UnsafeRawBufferPointer(start: nil, count: 0)

    /// Outlines nothing yet.
    init() {}

    /// Outlines a part of a line, for reading what stands in it; `offset` is its place there.
    public init(_ text: UnsafeRawBufferPointer, at offset: Int) throws(Refusal) {
        do throws(JSONFailure) {
            try fill(text)
        } catch {
            throw Refusal(JSONFailure(error.kind, at: offset + error.offset, error.reason))
        }
    }

    /// Whether this is the outline of these very bytes.
    func isOutline(of text: UnsafeRawBufferPointer) -> Bool {
        self.text.baseAddress == text.baseAddress && self.text.count == text.count && nodes.count > 0
    }

    /// Outlines another value. False, with nothing outlined, where the bytes are none.
    mutating func read(_ text: UnsafeRawBufferPointer) -> Bool {
        do throws(JSONFailure) {
            try fill(text)
            return true
        } catch {
            // Kept values were accepted before; nothing is equal to what isn't JSON.
            removeAll()
            return false
        }
    }

    /// Forgets the value.
    mutating func removeAll() {
        nodes.removeAll()
        names.removeAll()
        text = UnsafeRawBufferPointer(start: nil, count: 0)
    }

    // MARK: Nodes

    var count: Int { nodes.count }

    public func kind(_ node: Int) -> Kind {
        Self.kind(of: bytes(node))
    }

    /// The kind of a value that the scanner accepted, without white space in front.
    static func kind(of value: UnsafeRawBufferPointer) -> Kind {
        switch value.first {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): .literal
        default: .number
        }
    }

    public func bytes(_ node: Int) -> UnsafeRawBufferPointer {
        let node = nodes.elements[node]
        return UnsafeRawBufferPointer(rebasing: text[Int(node.start)..<Int(node.end)])
    }

    /// A string's spelling without its quotes.
    public func characters(_ node: Int) -> UnsafeRawBufferPointer {
        bytes(node).characters
    }

    /// The offset in the value.
    public func start(_ node: Int) -> Int { Int(nodes.elements[node].start) }

    /// Behind a node and all that is in it. Behind a name stands its value.
    public func next(_ node: Int) -> Int { Int(nodes.elements[node].next) }

    /// How many members or elements there are. The first stands at the next number.
    public func childCount(_ node: Int) -> Int { Int(nodes.elements[node].count) }

    /// What was noted of a name.
    func partner(_ name: Int) -> Int { Int(nodes.elements[name].count) }

    func setPartner(_ name: Int, _ partner: Int) {
        nodes.elements[name].count = UInt32(truncatingIfNeeded: partner)
    }

    // MARK: Names

    /// The name of a member, with what mostly suffices to tell its place among others.
    struct SortedName: BitwiseCopyable {
        let firstWord: UInt64
        let node: UInt32
    }

    /// The names of an object by their characters, of equal ones the last. Valid until the next
    /// call.
    mutating func lastNames(_ object: Int) -> UnsafeMutableBufferPointer<SortedName> {
        names.removeAll()
        var name = object + 1
        for _ in 0..<childCount(object) {
            let firstWord = JSONCharacters.firstWord(characters(name))
            names.append(SortedName(firstWord: firstWord, node: UInt32(truncatingIfNeeded: name)))
            name = next(name + 1)
        }
        names.sort { left, right in
            let order = order(left, self, right)
            return order == 0 ? left.node < right.node : order < 0
        }
        return withoutShadowed(names.elements)
    }

    /// Sorted names closed up to the last of each.
    private func withoutShadowed(
        _ names: UnsafeMutableBufferPointer<SortedName>
    ) -> UnsafeMutableBufferPointer<SortedName> {
        var count = 0
        for place in names.indices {
            let isLast = place + 1 == names.count || order(names[place], self, names[place + 1]) != 0
            guard isLast else { continue }
            names[count] = names[place]
            count += 1
        }
        return UnsafeMutableBufferPointer(rebasing: names[..<count])
    }

    /// How a name stands to one of this or another outline.
    @inline(__always)
    func order(_ name: SortedName, _ outline: borrowing JSONOutline, _ other: SortedName) -> Int {
        guard name.firstWord == other.firstWord else { return name.firstWord < other.firstWord ? -1 : 1 }
        return JSONCharacters.order(characters(Int(name.node)), outline.characters(Int(other.node)))
    }

    // MARK: Reading

    /// Where reading is, and in which container.
    private struct Reading {
        var scanner: JSONScanner
        /// The innermost node that isn't closed yet.
        var open = JSONOutline.none
        var depth = 0
    }

    private static let none = UInt32.max

    private mutating func fill(_ text: UnsafeRawBufferPointer) throws(JSONFailure) {
        removeAll()
        self.text = text
        var reading = Reading(scanner: JSONScanner(text))
        reading.scanner.skipWhitespace()
        repeat {
            let node = nodes.count
            let start = UInt32(truncatingIfNeeded: reading.scanner.position)
            nodes.append(Node(start: start, end: start, next: reading.open))
            if try enter(node, &reading) { continue }
            finish(node, reading)
            try closeFinished(&reading)
        } while reading.open != Self.none
    }

    /// Moves over a scalar or an empty container; or, true, into a container that has content,
    /// up to its first value.
    private mutating func enter(_ node: Int, _ reading: inout Reading) throws(JSONFailure) -> Bool {
        let closing = Self.closing(reading.scanner.current)
        guard closing != 0 else {
            try reading.scanner.skipValue()
            return false
        }
        guard reading.depth < Limits.depthMax else {
            throw JSONFailure(.depth, at: reading.scanner.position, "less nesting")
        }
        reading.scanner.position += 1
        reading.scanner.skipWhitespace()
        if reading.scanner.current == closing {
            reading.scanner.position += 1
            return false
        }
        reading.depth += 1
        reading.open = UInt32(truncatingIfNeeded: node)
        if closing == UInt8(ascii: "}") { try readName(&reading) }
        return true
    }

    /// After a finished value: moves over the comma to the next one, or over closing brackets.
    private mutating func closeFinished(_ reading: inout Reading) throws(JSONFailure) {
        while reading.open != Self.none {
            let open = Int(reading.open)
            let closing = Self.closing(text[start(open)])
            // In place, it would be an access that the thread sanitizer can't be compiled with.
            let elements = nodes.elements
            elements[open].count += 1
            reading.scanner.skipWhitespace()
            if reading.scanner.current == UInt8(ascii: ",") {
                reading.scanner.position += 1
                reading.scanner.skipWhitespace()
                if closing == UInt8(ascii: "}") { try readName(&reading) }
                return
            }
            guard reading.scanner.current == closing else { throw reading.scanner.syntax("a comma") }
            reading.scanner.position += 1
            reading.open = nodes.elements[open].next
            reading.depth -= 1
            finish(open, reading)
        }
    }

    /// Moves over a member's name and its colon.
    private mutating func readName(_ reading: inout Reading) throws(JSONFailure) {
        let start = reading.scanner.position
        guard reading.scanner.current == UInt8(ascii: "\"") else {
            throw reading.scanner.syntax("a name in quotes")
        }
        reading.scanner.position += 1
        try reading.scanner.skipString()
        nodes.append(Node(start: UInt32(truncatingIfNeeded: start), end: 0, next: 0))
        finish(nodes.count - 1, reading)
        try reading.scanner.skipColon()
    }

    private func finish(_ node: Int, _ reading: Reading) {
        nodes.elements[node].end = UInt32(truncatingIfNeeded: reading.scanner.position)
        nodes.elements[node].next = UInt32(truncatingIfNeeded: nodes.count)
    }

    /// The bracket that closes what a byte opens; 0 where it opens nothing.
    private static func closing(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "{"): UInt8(ascii: "}")
        case UInt8(ascii: "["): UInt8(ascii: "]")
        default: 0
        }
    }
}
