// Compares two values as JSON. It reads each value once into an outline, and pairs the members of objects
// by their names' hashes. So any input costs O(n). It keeps its memory between calls.

import PlugboardMemory

/// When two values are equal. The order of members, white space and the spelling of strings never matter.
/// The order of elements does. If a name occurs twice in an object, its last member counts.
public enum JSONSameness: Sendable {
    /// Numbers are exact decimals: 1.0 equals 1e0.
    case meaning
    /// Numbers are equal only if they are spelled alike.
    case spelling
    /// The same, and of a name that occurs twice all members count, in their order.
    case members
}

/// The bytes of the two values that are compared.
struct JSONPair: ~Escapable {
    let left: Span<UInt8>
    let right: Span<UInt8>

    @_lifetime(copy left, copy right)
    init(left: Span<UInt8>, right: Span<UInt8>) {
        self.left = left
        self.right = right
    }
}

/// Compares values. Each thread has its own. It allocates only for values larger than any before.
public struct JSONComparer: ~Copyable {
    var left = JSONOutline()
    var right = JSONOutline()
    /// The names of the two objects that were paired last.
    var leftNames = JSONNames()
    var rightNames = JSONNames()
    /// The number of the part in the left outline, if the caller gave it one.
    private var leftPart: Int?
    /// The values before and after the event that several filters are asked about.
    private var former = AskedValue()
    private var present = AskedValue()
    private var event: UInt64 = 0
    private var isAskedAgain = false

    public init() {}

    /// The value before an event, or the one after it.
    enum Side { case former, present }

    /// The questions up to `endAsking` are about the values of an event. Its number differs from that of any other
    /// event; 0 is none. If it was asked about before, its values are not read again.
    public mutating func ask(about event: UInt64) {
        isAskedAgain = event != 0 && event == self.event
        if isAskedAgain { return }
        self.event = event
        former.forget()
        present.forget()
    }

    /// The next questions are about other values.
    public mutating func endAsking() { isAskedAgain = false }

    /// Finds the parts of a value of the event, if it was asked about before; otherwise nil. `alone` is the
    /// pointer if there is only one.
    mutating func find(
        _ tree: PointerTree,
        alone: Span<UInt8>,
        in value: Span<UInt8>,
        _ side: Side,
        _ places: inout MutableSpan<ByteRange>
    ) -> UInt64? {
        guard isAskedAgain else { return nil }
        switch side {
        case .former: return former.read(value) ? former.find(tree, alone: alone, in: value, &places) : nil
        case .present: return present.read(value) ? present.find(tree, alone: alone, in: value, &places) : nil
        }
    }

    /// Whether two values are equal. Both must be JSON that the scanner accepted, without white space
    /// around it.
    public mutating func areEqual(
        _ left: Span<UInt8>, _ right: Span<UInt8>, _ sameness: JSONSameness = .meaning
    ) -> Bool {
        defer { forget() }
        return areEqual(JSONPair(left: left, right: right), part: nil, sameness)
    }

    /// Whether two values have the same meaning. `part` is a number for the left value. Calls with the
    /// same number read the left value only once, until `forget`.
    mutating func isPart(_ part: Int, _ left: Span<UInt8>, equalTo right: Span<UInt8>) -> Bool {
        areEqual(JSONPair(left: left, right: right), part: part, .meaning)
    }

    private mutating func areEqual(_ texts: JSONPair, part: Int?, _ sameness: JSONSameness) -> Bool {
        let (left, right) = (texts.left, texts.right)
        if left.isEqual(to: right) { return true }
        let kind = JSONOutline.kind(of: left)
        guard kind == JSONOutline.kind(of: right) else { return false }
        guard kind == .object || kind == .array else { return Self.areEqual(left, right, kind, sameness) }
        return readBoth(texts, part) && areEqual(0, 0, texts, sameness)
    }

    /// Forgets both values. Call it before their bytes change.
    mutating func forget() {
        left.removeAll()
        right.removeAll()
        leftNames.removeAll()
        rightNames.removeAll()
        leftPart = nil
    }

    private mutating func readBoth(_ texts: JSONPair, _ part: Int?) -> Bool {
        if part == nil || part != leftPart {
            leftPart = nil
            guard left.read(texts.left) else { return false }
            leftPart = part
        }
        return right.read(texts.right)
    }

    /// Whether a node of the left outline equals a node of the right one. The recursion is as deep as the
    /// nesting of the values.
    mutating func areEqual(
        _ leftNode: Int, _ rightNode: Int, _ texts: JSONPair, _ sameness: JSONSameness
    ) -> Bool {
        let leftBytes = left.bytes(leftNode, of: texts.left)
        let rightBytes = right.bytes(rightNode, of: texts.right)
        if leftBytes.isEqual(to: rightBytes) { return true }
        let kind = JSONOutline.kind(of: leftBytes)
        guard kind == JSONOutline.kind(of: rightBytes) else { return false }
        switch kind {
        case .object: return areObjectsEqual(leftNode, rightNode, texts, sameness)
        case .array: return areArraysEqual(leftNode, rightNode, texts, sameness)
        default: return Self.areEqual(leftBytes, rightBytes, kind, sameness)
        }
    }

    /// Whether two scalars of the same kind with different bytes are equal.
    private static func areEqual(
        _ left: Span<UInt8>, _ right: Span<UInt8>, _ kind: JSONOutline.Kind, _ sameness: JSONSameness
    ) -> Bool {
        switch kind {
        case .number: sameness == .meaning && DecimalOrder.order(left, right) == 0
        case .string: JSONCharacters.areEqual(left.characters, right.characters)
        default: false
        }
    }

    private mutating func areArraysEqual(
        _ leftNode: Int, _ rightNode: Int, _ texts: JSONPair, _ sameness: JSONSameness
    ) -> Bool {
        let count = left.childCount(leftNode)
        guard count == right.childCount(rightNode) else { return false }
        var (leftChild, rightChild) = (leftNode + 1, rightNode + 1)
        for _ in 0..<count {
            guard areEqual(leftChild, rightChild, texts, sameness) else { return false }
            (leftChild, rightChild) = (left.next(leftChild), right.next(rightChild))
        }
        return true
    }

    private mutating func areObjectsEqual(
        _ leftNode: Int, _ rightNode: Int, _ texts: JSONPair, _ sameness: JSONSameness
    ) -> Bool {
        let pairing = pair(leftNode, rightNode, texts)
        guard pairing.isComplete else { return false }
        if sameness == .members, pairing.hasRepeats { return areMembersEqual(leftNode, rightNode, texts) }
        var name = leftNode + 1
        for _ in 0..<left.childCount(leftNode) {
            let partner = left.partner(name)
            // A name has no partner only if it occurs again later.
            guard partner == 0 || areEqual(name + 1, partner, texts, sameness) else { return false }
            name = left.next(name + 1)
        }
        return true
    }

    /// Whether two objects have the same members, each as often and those of one name in the same order.
    mutating func areMembersEqual(_ leftNode: Int, _ rightNode: Int, _ texts: JSONPair) -> Bool {
        guard left.childCount(leftNode) == right.childCount(rightNode) else { return false }
        let leftMembers = Self.members(leftNode, left, texts.left)
        let rightMembers = Self.members(rightNode, right, texts.right)
        for (one, other) in zip(leftMembers, rightMembers) {
            guard one.name == other.name, areEqual(one.node + 1, other.node + 1, texts, .members) else {
                return false
            }
        }
        return true
    }

    /// The members of an object by their names, and those of one name in their order.
    private static func members(_ node: Int, _ outline: borrowing JSONOutline, _ text: Span<UInt8>)
        -> [(name: [UInt8], node: Int)]
    {
        var members: [(name: [UInt8], node: Int)] = []
        var name = node + 1
        for _ in 0..<outline.childCount(node) {
            members.append((JSONText.characters(outline.characters(name, of: text)), name))
            name = outline.next(name + 1)
        }
        members.sort { one, other in
            one.name == other.name ? one.node < other.node : one.name.lexicographicallyPrecedes(other.name)
        }
        return members
    }
}
