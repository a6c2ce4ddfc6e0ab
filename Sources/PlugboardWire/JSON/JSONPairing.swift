// Pairs the members of two objects by name, for comparisons and differences. The comparer's outlines keep
// the result. If a name occurs twice, its last member counts, as in merge patches and for pointers.

/// The result of pairing the members of two objects.
struct JSONPairing {
    /// Whether both objects have the same names.
    let isComplete: Bool
    /// Whether a name occurs twice in one of them.
    let hasRepeats: Bool
}

extension JSONComparer {
    /// Sets the partner of each name in two objects: the node of the value that the other object has
    /// under the same name. It is 0 if there is none, or if the name occurs again later.
    mutating func pair(_ leftObject: Int, _ rightObject: Int, _ texts: JSONPair) -> JSONPairing {
        leftNames.fill(leftObject, of: left, texts.left)
        rightNames.fill(rightObject, of: right, texts.right)
        for slot in rightNames.indices {
            if let name = rightNames[slot] { right.setPartner(name, 0) }
        }
        var pairs = 0
        for slot in leftNames.indices {
            guard let name = leftNames[slot] else { continue }
            let characters = left.characters(name, of: texts.left)
            let other = rightNames.find(characters, as: slot, of: leftNames, in: right, texts.right)
            left.setPartner(name, other.map { $0 + 1 } ?? 0)
            guard let other else { continue }
            right.setPartner(other, name + 1)
            pairs += 1
        }
        let isWhole =
            leftNames.count == left.childCount(leftObject)
            && rightNames.count == right.childCount(rightObject)
        let isComplete = pairs == leftNames.count && pairs == rightNames.count
        return JSONPairing(isComplete: isComplete, hasRepeats: !isWhole)
    }
}
