// The parts of a value that a set of pointers names, found in a single pass: a value is
// looked through once, however many pointers there are and however deep they reach.

/// Where the parts are that pointers name in one value. Valid only within the call of
/// `JSONPointerSet.withParts` that made it.
public struct JSONParts {
    let value: UnsafeRawBufferPointer
    let places: UnsafeMutableBufferPointer<ByteRange>
    /// A bit for each pointer that names something.
    public let found: UInt64

    /// The bytes of the part that a pointer names; nil where it names nothing.
    public subscript(pointer: Int) -> UnsafeRawBufferPointer? {
        found >> UInt64(pointer) & 1 == 1 ? places[pointer].bytes(of: value) : nil
    }
}

extension JSONPointerSet {
    /// Finds the parts of `value`, JSON that the scanner accepted. Allocates nothing.
    public func withParts<Result>(of value: UnsafeRawBufferPointer, _ body: (JSONParts) -> Result) -> Result {
        // Half a kilobyte: what the compiler puts on the stack.
        withUnsafeTemporaryAllocation(of: ByteRange.self, capacity: Limits.pointersMax) { places in
            let found = nodes.withUnsafeBufferPointer { nodes in
                tokens.withUnsafeBytes { tokens in
                    var search = JSONPartSearch(nodes: nodes, tokens: tokens, value: value, places: places)
                    return search.run()
                }
            }
            return body(JSONParts(value: value, places: places, found: found))
        }
    }

    /// The place in `value` of the part that a pointer names; empty where it names nothing.
    public func place(of pointer: Int, in value: UnsafeRawBufferPointer) -> ByteRange {
        withParts(of: value) { $0[pointer] == nil ? .none : $0.places[pointer] }
    }
}

/// One pass over a value. Goes only as deep as pointers do, and no deeper than the value.
private struct JSONPartSearch {
    let nodes: UnsafeBufferPointer<JSONPointerSet.Node>
    let tokens: UnsafeRawBufferPointer
    let value: UnsafeRawBufferPointer
    let places: UnsafeMutableBufferPointer<ByteRange>
    private var scanner: JSONScanner
    private var found: UInt64 = 0

    init(
        nodes: UnsafeBufferPointer<JSONPointerSet.Node>,
        tokens: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        places: UnsafeMutableBufferPointer<ByteRange>
    ) {
        self.nodes = nodes
        self.tokens = tokens
        self.value = value
        self.places = places
        scanner = JSONScanner(value)
    }

    mutating func run() -> UInt64 {
        do throws(JSONFailure) {
            scanner.skipWhitespace()
            try visit(0)
            return found
        } catch {
            // Kept values were accepted; in what isn't JSON, pointers name nothing.
            return 0
        }
    }

    /// Moves over the value that a node's tokens lead to.
    private mutating func visit(_ node: Int) throws(JSONFailure) {
        let start = scanner.position
        if nodes[node].firstChild < 0 {
            try scanner.skipValue()
        } else if scanner.current == UInt8(ascii: "{") {
            try visitMembers(node)
        } else if scanner.current == UInt8(ascii: "[") {
            try visitElements(node)
        } else {
            try scanner.skipValue()
        }
        let pointer = nodes[node].pointer
        guard pointer >= 0 else { return }
        places[pointer] = ByteRange(start, scanner.position)
        found |= 1 << UInt64(pointer)
    }

    private mutating func visitMembers(_ node: Int) throws(JSONFailure) {
        scanner.position += 1
        scanner.skipWhitespace()
        guard scanner.current != UInt8(ascii: "}") else { return scanner.position += 1 }
        var goesOn = true
        while goesOn {
            let start = scanner.position + 1
            guard scanner.current == UInt8(ascii: "\"") else { throw scanner.syntax("a name in quotes") }
            scanner.position += 1
            try scanner.skipString()
            let name = UnsafeRawBufferPointer(rebasing: value[start..<(scanner.position - 1)])
            try scanner.skipColon()
            try visitChild(child(of: node, named: name))
            goesOn = try goOn(to: UInt8(ascii: "}"))
        }
    }

    private mutating func visitElements(_ node: Int) throws(JSONFailure) {
        scanner.position += 1
        scanner.skipWhitespace()
        guard scanner.current != UInt8(ascii: "]") else { return scanner.position += 1 }
        var element = 0
        var goesOn = true
        while goesOn {
            try visitChild(child(of: node, at: element))
            element += 1
            goesOn = try goOn(to: UInt8(ascii: "]"))
        }
    }

    private mutating func visitChild(_ child: Int) throws(JSONFailure) {
        guard child >= 0 else { return try scanner.skipValue() }
        // What an earlier member of this name had is no longer meant.
        found &= ~nodes[child].covered
        try visit(child)
    }

    /// Moves over a comma to what follows, or over the closing bracket.
    private mutating func goOn(to closing: UInt8) throws(JSONFailure) -> Bool {
        scanner.skipWhitespace()
        let byte = scanner.current
        guard byte == UInt8(ascii: ",") || byte == closing else { throw scanner.syntax("a comma") }
        scanner.position += 1
        guard byte != closing else { return false }
        scanner.skipWhitespace()
        return true
    }

    private func child(of node: Int, named name: UnsafeRawBufferPointer) -> Int {
        var child = nodes[node].firstChild
        while child >= 0 {
            let token = nodes[child].token.bytes(of: tokens)
            if JSONCharacters.areEqual(name, characters: token) { return child }
            child = nodes[child].nextSibling
        }
        return -1
    }

    private func child(of node: Int, at element: Int) -> Int {
        var child = nodes[node].firstChild
        while child >= 0, nodes[child].element != element { child = nodes[child].nextSibling }
        return child
    }
}
