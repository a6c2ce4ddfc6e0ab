// Pairs the members of two objects by name, for comparisons and differences. The comparer's outlines keep
// the result. If a name occurs twice, its last member counts, as in merge patches and for pointers.

/// The result of pairing the members of two objects.
struct JSONPairing {
    /// Whether both objects have the same names.
    var isComplete = true
    /// Whether a name occurs twice in one of them.
    let hasRepeats: Bool
}

extension JSONComparer {
    /// Sets the partner of each name in two objects: the node of the value that the other object has
    /// under the same name. It is 0 if there is none, or if the name occurs again later.
    mutating func pair(_ leftObject: Int, _ rightObject: Int, _ texts: JSONPair) -> JSONPairing {
        left.sortLastNames(leftObject, of: texts.left)
        right.sortLastNames(rightObject, of: texts.right)
        let isWhole =
            left.names.count == left.childCount(leftObject)
            && right.names.count == right.childCount(rightObject)
        var pairing = JSONPairing(hasRepeats: !isWhole)
        var (place, other) = (0, 0)
        while place < left.names.count || other < right.names.count {
            // If one list has ended, the other list's name comes first.
            let order = orderOfNames(place, other, texts)
            if order != 0 { pairing.isComplete = false }
            let leftName = order <= 0 ? Int(left.names[place].node) : nil
            let rightName = order >= 0 ? Int(right.names[other].node) : nil
            if let leftName {
                left.setPartner(leftName, rightName.map { $0 + 1 } ?? 0)
                place += 1
            }
            if let rightName {
                right.setPartner(rightName, leftName.map { $0 + 1 } ?? 0)
                other += 1
            }
        }
        return pairing
    }

    private func orderOfNames(_ place: Int, _ other: Int, _ texts: JSONPair) -> Int {
        if place == left.names.count { return 1 }
        if other == right.names.count { return -1 }
        return left.order(left.names[place], of: texts.left, to: right.names[other], right, of: texts.right)
    }
}
