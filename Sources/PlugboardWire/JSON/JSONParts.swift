// Finds the parts of a value that a set of pointers names. One pass is enough for any number of pointers
// of any depth. The places are on the caller's stack, so nothing is allocated.

import PlugboardMemory

/// The places of the parts that pointers name in one value.
public struct JSONParts: ~Escapable {
    let value: Span<UInt8>
    let places: Span<ByteRange>
    /// A bit for each pointer that names a part.
    public let found: UInt64

    @_lifetime(copy value, copy places)
    init(of value: Span<UInt8>, at places: Span<ByteRange>, found: UInt64) {
        self.value = value
        self.places = places
        self.found = found
    }

    /// Whether the pointer with this number names a part.
    public func has(_ pointer: Int) -> Bool { found >> UInt64(pointer) & 1 == 1 }

    /// The bytes of the part that a pointer names; empty if there is none.
    public subscript(pointer: Int) -> Span<UInt8> {
        @_lifetime(copy self)
        get { has(pointer) ? places[pointer].bytes(of: value) : Span() }
    }
}

extension JSONPointerSet {
    /// Finds the parts of `value`, which must be JSON that the scanner accepted. Allocates nothing.
    public func withParts<Result>(of value: Span<UInt8>, _ body: (borrowing JSONParts) -> Result) -> Result {
        withTemporarySpan(of: ByteRange.none, count: max(1, count)) { places in
            var search = JSONPartSearch(tree, of: value)
            let found = search.run(&places)
            return body(JSONParts(of: value, at: places.span, found: found))
        }
    }

    /// The same for a value that other sets are asked about, too.
    func withParts<Result>(
        of value: Span<UInt8>,
        _ side: JSONComparer.Side,
        using comparer: inout JSONComparer,
        _ body: (borrowing JSONParts, inout JSONComparer) -> Result
    ) -> Result {
        withTemporarySpan(of: ByteRange.none, count: max(1, count)) { places in
            if let found = comparer.find(tree, alone: onlyName, in: value, side, &places) {
                return body(JSONParts(of: value, at: places.span, found: found), &comparer)
            }
            var search = JSONPartSearch(tree, of: value)
            let found = search.run(&places)
            return body(JSONParts(of: value, at: places.span, found: found), &comparer)
        }
    }

    /// The place of the part that a pointer names; empty if there is none.
    public func place(of pointer: Int, in value: Span<UInt8>) -> ByteRange {
        withParts(of: value) { $0.has(pointer) ? $0.places[pointer] : .none }
    }
}

/// One pass over a value. The recursion is as deep as the pointers or as the value, whichever is less.
private struct JSONPartSearch: ~Escapable {
    private let tree: PointerTree
    private let value: Span<UInt8>
    private var scanner: JSONScanner
    private var found: UInt64 = 0

    @_lifetime(copy tree, copy value)
    init(_ tree: PointerTree, of value: Span<UInt8>) {
        self.tree = tree
        self.value = value
        scanner = JSONScanner(value)
    }

    /// Writes the places, and returns a bit for each pointer that names a part.
    mutating func run(_ places: inout MutableSpan<ByteRange>) -> UInt64 {
        do throws(JSONFailure) {
            scanner.skipWhitespace()
            try visit(0, &places)
            return found
        } catch {
            // Only values that the scanner accepted are stored. In anything else, pointers name nothing.
            return 0
        }
    }

    /// Moves past the value at a node's tokens.
    private mutating func visit(_ node: Int, _ places: inout MutableSpan<ByteRange>) throws(JSONFailure) {
        let start = scanner.position
        if tree.nodes[node].firstChild < 0 {
            try scanner.skipValue()
        } else if scanner.current == UInt8(ascii: "{") {
            try visitMembers(node, &places)
        } else if scanner.current == UInt8(ascii: "[") {
            try visitElements(node, &places)
        } else {
            try scanner.skipValue()
        }
        let pointer = tree.nodes[node].pointer
        guard pointer >= 0 else { return }
        places[pointer] = ByteRange(start, scanner.position)
        found |= 1 << UInt64(pointer)
    }

    private mutating func visitMembers(_ node: Int, _ places: inout MutableSpan<ByteRange>)
        throws(JSONFailure)
    {
        guard scanner.enter() else { return }
        repeat {
            let name = try scanner.readName()
            try visitChild(tree.child(of: node, named: name.bytes(of: value)), &places)
        } while try scanner.goOn(to: UInt8(ascii: "}"))
    }

    private mutating func visitElements(_ node: Int, _ places: inout MutableSpan<ByteRange>)
        throws(JSONFailure)
    {
        guard scanner.enter() else { return }
        var element = 0
        repeat {
            try visitChild(tree.child(of: node, at: element), &places)
            element += 1
        } while try scanner.goOn(to: UInt8(ascii: "]"))
    }

    private mutating func visitChild(_ child: Int, _ places: inout MutableSpan<ByteRange>) throws(JSONFailure)
    {
        guard child >= 0 else { return try scanner.skipValue() }
        // If a name occurs twice, its last member replaces the earlier ones.
        found &= ~tree.nodes[child].covered
        try visit(child, &places)
    }
}
