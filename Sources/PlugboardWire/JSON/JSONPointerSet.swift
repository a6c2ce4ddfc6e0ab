// A set of JSON Pointers (RFC 6901): the parts of a value that a client names. They are checked once, and
// then finding their parts takes one pass over each value. If a name occurs twice in an object, its last
// member counts, as in merge patches.

import PlugboardMemory

/// Up to `Limits.pointersMax` different JSON Pointers. A set owns its bytes, and copies are independent.
public struct JSONPointerSet: Sendable {
    /// A token that one or more pointers share. The nodes form a tree.
    struct Node {
        /// The place of the token's characters in the set's `tokens`.
        let token: ByteRange
        /// See `mark(of:)`.
        let mark: UInt64
        /// The array index that the token spells, or −1.
        let element: Int
        /// The numbers of other nodes, or −1.
        var firstChild = -1
        var nextSibling = -1
        /// The number of the pointer that ends here, or −1.
        var pointer = -1
        /// A bit for each pointer that ends here or below.
        var covered: UInt64 = 0
    }

    /// The number of pointers. They are numbered from 0 in the order in which they were added.
    public private(set) var count = 0
    private(set) var nodes = [Node(token: .none, mark: 0, element: -1)]
    /// The characters of all tokens.
    private(set) var tokens: [UInt8] = []
    /// The pointers as names of members, with colons, one after another.
    private var names: [UInt8] = []
    private var nameRanges: [ByteRange] = []

    public init() {}

    /// Reads an array of pointers that the scanner accepted. A pointer that occurs twice counts once.
    /// `offset` is the array's place in its line. Throws `wrong_type` if it isn't an array, is empty or
    /// has an invalid pointer, and `limit` if it is too large.
    public init(array: Span<UInt8>, at offset: Int) throws(Refusal) {
        let outline = try JSONOutline(array, at: offset)
        guard outline.kind(0, of: array) == .array, outline.childCount(0) > 0 else {
            let message = "\"fields\" takes an array of JSON Pointers"
            throw Refusal(.wrongType, message, hint: "for instance [\"/price\"]", at: offset)
        }
        guard outline.childCount(0) <= Limits.pointersMax else { throw Self.tooMany(at: offset) }
        var element = 1
        for _ in 0..<outline.childCount(0) {
            let start = offset + outline.start(element)
            guard outline.kind(element, of: array) == .string else {
                throw Refusal(.wrongType, "a JSON Pointer is a string", at: start)
            }
            _ = try add(outline.characters(element, of: array), at: start + 1)
            element = outline.next(element)
        }
    }

    /// Adds a pointer and returns its number. A pointer that is in the set already keeps its number.
    /// `spelling` is a JSON string without quotes, and `offset` its place in the line. Throws
    /// `wrong_type` or `limit`.
    public mutating func add(_ spelling: Span<UInt8>, at offset: Int) throws(Refusal) -> Int {
        let reader = try JSONPointerReader(spelling, at: offset)
        var node = 0
        var path = [node]
        for token in try reader.tokens() {
            node = child(of: node, token)
            path.append(node)
        }
        if nodes[node].pointer >= 0 { return nodes[node].pointer }
        guard count < Limits.pointersMax else { throw Self.tooMany(at: offset) }
        nodes[node].pointer = count
        for node in path { nodes[node].covered |= 1 << UInt64(count) }
        appendName(reader.characters)
        count += 1
        return count - 1
    }

    /// Adds a pointer as the name of a member, with its colon.
    @inline(__always)
    func appendName(_ pointer: Int, to buffer: inout ByteBuffer) {
        buffer.append(nameRanges[pointer].bytes(of: names.span))
    }

    /// Adds a pointer as a JSON string.
    func appendText(_ pointer: Int, to buffer: inout ByteBuffer) {
        let name = nameRanges[pointer]
        buffer.append(ByteRange(name.start, name.end - 1).bytes(of: names.span))
    }

    /// The pointer as the name of a member, if it is the only one; otherwise empty.
    var onlyName: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { count == 1 ? names.span : Span() }
    }

    /// A number that tells most names apart. It is compared before them: an object may have as many members
    /// as a set has pointers, and each of them is looked for among all.
    static func mark(of name: Span<UInt8>) -> UInt64 {
        var mark = UInt64(truncatingIfNeeded: name.count)
        for index in name.indices { mark = (mark ^ UInt64(name[index])) &* 0x0000_0100_0000_01B3 }
        return mark
    }

    private mutating func child(of parent: Int, _ token: [UInt8]) -> Int {
        var child = nodes[parent].firstChild
        while child >= 0 {
            let range = nodes[child].token
            if tokens[range.start..<range.end].elementsEqual(token) { return child }
            child = nodes[child].nextSibling
        }
        let range = ByteRange(tokens.count, tokens.count + token.count)
        tokens += token
        var node = Node(
            token: range, mark: Self.mark(of: token.span), element: JSONPointerReader.element(token.span)
        )
        node.nextSibling = nodes[parent].firstChild
        nodes[parent].firstChild = nodes.count
        nodes.append(node)
        return nodes.count - 1
    }

    private mutating func appendName(_ characters: [UInt8]) {
        var buffer = ByteBuffer()
        JSONText.append(characters.span, to: &buffer)
        buffer.append(":")
        nameRanges.append(ByteRange(names.count, names.count + buffer.count))
        names += Array(buffer.bytes)
    }

    private static func tooMany(at offset: Int) -> Refusal {
        Refusal(.limit, "at most \(Limits.pointersMax) JSON Pointers at a time", at: offset)
    }
}
