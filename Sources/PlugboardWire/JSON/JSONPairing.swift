// The members of two objects brought together by name.

/// What came of pairing the members of two objects.
enum JSONPairing {
    /// Every name of one object is also one of the other.
    case complete
    /// One of the objects has a name that the other hasn't.
    case partial
    /// A name occurs twice in one of the objects: what was noted is of no use.
    case repeating
}

extension JSONComparer {
    /// Notes for each name of two objects the number of the value's node that the other object
    /// has under that name, or 0 where it has none.
    mutating func pair(_ leftObject: Int, _ rightObject: Int, _ texts: JSONPair) -> JSONPairing {
        left.sortNames(leftObject, of: texts.left)
        right.sortNames(rightObject, of: texts.right)
        guard !left.hasRepeats(in: texts.left), !right.hasRepeats(in: texts.right) else { return .repeating }
        var pairing = JSONPairing.complete
        var (place, other) = (0, 0)
        while place < left.names.count || other < right.names.count {
            // Where one list is at its end, the other's name is first.
            let order = orderOfNames(place, other, texts)
            if order != 0 { pairing = .partial }
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
