// Pairs the members of two objects by name, for comparisons and differences. The outlines
// of the comparer keep the result. If a name occurs twice, its last member counts, as in
// merge patches and for pointers; earlier ones are ignored.

/// The result of pairing the members of two objects.
struct JSONPairing {
    /// Every name of one object is also a name of the other.
    var isComplete = true
    /// In one of them a name occurs twice.
    let hasRepeats: Bool
}

extension JSONComparer {
    /// Sets for each name of two objects the node of the value that the other object has under
    /// that name. It is 0 if the other object has no such name, or if the name occurs again later.
    mutating func pair(_ leftObject: Int, _ rightObject: Int, _ texts: JSONPair) -> JSONPairing {
        left.sortLastNames(leftObject, of: texts.left)
        right.sortLastNames(rightObject, of: texts.right)
        let isWhole =
            left.names.count == left.childCount(leftObject)
            && right.names.count == right.childCount(rightObject)
        var pairing = JSONPairing(hasRepeats: !isWhole)
        var (place, other) = (0, 0)
        while place < left.names.count || other < right.names.count {
            // At the end of one list, the other list's name comes first.
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
