// The members of two objects brought together by name. Of a name that occurs twice the last
// member counts, as in merge patches and for pointers: the others might as well not be there.

/// What came of pairing the members of two objects.
struct JSONPairing {
    /// Every name of one object is also one of the other.
    var isComplete = true
    /// A name occurs twice in one of them.
    let hasRepeats: Bool
}

extension JSONComparer {
    /// Notes for each name of two objects the number of the value's node that the other object
    /// has under that name, or 0 where it has none, and where the name comes again.
    mutating func pair(_ leftObject: Int, _ rightObject: Int, _ texts: JSONPair) -> JSONPairing {
        left.sortLastNames(leftObject, of: texts.left)
        right.sortLastNames(rightObject, of: texts.right)
        let isWhole =
            left.names.count == left.childCount(leftObject)
            && right.names.count == right.childCount(rightObject)
        var pairing = JSONPairing(hasRepeats: !isWhole)
        var (place, other) = (0, 0)
        while place < left.names.count || other < right.names.count {
            // Where one list is at its end, the other's name is first.
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
