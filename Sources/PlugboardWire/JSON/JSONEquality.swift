// Whether two values are the same JSON. Each is read once into an outline; the members
// of objects are paired by sorting their names, so that neither a changed order nor a
// hostile value costs more than n·log n. The memory is kept from call to call.

/// When two values count as equal. Under both, the order of members, white space and the
/// spelling of strings don't matter, and the order of elements does. Of a name that occurs twice
/// in an object the last member counts.
public enum JSONSameness: Sendable {
    /// Numbers are exact decimals: 1.0 equals 1e0.
    case meaning
    /// Numbers are equal where they are spelled alike.
    case spelling
}

/// Compares values. One per thread; allocates nothing once it has compared values as large.
public struct JSONComparer: ~Copyable {
    var left = JSONOutline()
    var right = JSONOutline()

    /// Holds no memory yet.
    public init() {}

    /// Whether two values are equal. Both are JSON that the scanner accepted, without white
    /// space round it.
    public mutating func areEqual(
        _ left: UnsafeRawBufferPointer,
        _ right: UnsafeRawBufferPointer,
        _ sameness: JSONSameness = .meaning
    ) -> Bool {
        defer { forget() }
        return areEqualForNow(left, right, sameness)
    }

    /// The same, where the left value may be compared again before `forget`: it is read once.
    mutating func areEqualForNow(
        _ left: UnsafeRawBufferPointer,
        _ right: UnsafeRawBufferPointer,
        _ sameness: JSONSameness = .meaning
    ) -> Bool {
        if ByteSearch.areEqual(left, right) { return true }
        let kind = JSONOutline.kind(of: left)
        guard kind == JSONOutline.kind(of: right) else { return false }
        guard kind == .object || kind == .array else { return Self.areEqual(left, right, kind, sameness) }
        return readBoth(left, right) && areEqual(0, 0, sameness)
    }

    /// Forgets the values: their bytes may go.
    mutating func forget() {
        left.removeAll()
        right.removeAll()
    }

    private mutating func readBoth(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        (self.left.isOutline(of: left) || self.left.read(left)) && self.right.read(right)
    }

    /// Whether a node of the left outline equals one of the right. Goes as deep as they nest.
    mutating func areEqual(_ leftNode: Int, _ rightNode: Int, _ sameness: JSONSameness) -> Bool {
        let (leftBytes, rightBytes) = (left.bytes(leftNode), right.bytes(rightNode))
        if ByteSearch.areEqual(leftBytes, rightBytes) { return true }
        let kind = left.kind(leftNode)
        guard kind == right.kind(rightNode) else { return false }
        switch kind {
        case .object: return areObjectsEqual(leftNode, rightNode, sameness)
        case .array: return areArraysEqual(leftNode, rightNode, sameness)
        default: return Self.areEqual(leftBytes, rightBytes, kind, sameness)
        }
    }

    /// Whether two scalars of a kind are equal that are not the same bytes.
    private static func areEqual(
        _ left: UnsafeRawBufferPointer,
        _ right: UnsafeRawBufferPointer,
        _ kind: JSONOutline.Kind,
        _ sameness: JSONSameness
    ) -> Bool {
        switch kind {
        case .number: sameness == .meaning && DecimalOrder.order(left, right) == 0
        case .string: JSONCharacters.areEqual(left.characters, right.characters)
        default: false
        }
    }

    private mutating func areArraysEqual(_ leftNode: Int, _ rightNode: Int, _ sameness: JSONSameness) -> Bool
    {
        let count = left.childCount(leftNode)
        guard count == right.childCount(rightNode) else { return false }
        var (leftChild, rightChild) = (leftNode + 1, rightNode + 1)
        for _ in 0..<count {
            guard areEqual(leftChild, rightChild, sameness) else { return false }
            (leftChild, rightChild) = (left.next(leftChild), right.next(rightChild))
        }
        return true
    }

    private mutating func areObjectsEqual(_ leftNode: Int, _ rightNode: Int, _ sameness: JSONSameness) -> Bool
    {
        guard pair(leftNode, rightNode).isComplete else { return false }
        var name = leftNode + 1
        for _ in 0..<left.childCount(leftNode) {
            let partner = left.partner(name)
            // Only a name that comes again has none.
            guard partner == 0 || areEqual(name + 1, partner, sameness) else { return false }
            name = left.next(name + 1)
        }
        return true
    }
}
