// The members of two objects brought together by name.

/// What came of pairing the members of two objects.
struct JSONPairing {
    /// Every name of one object is also one of the other.
    var isComplete = true
    /// A name occurs twice in one of the objects.
    var hasRepeats = false
}

extension JSONComparer {
    /// Notes for each name of two objects where the other object has the value of that name:
    /// the number of the value's node, 0 where there is none, and `JSONOutline.shadowed` where
    /// the same object has the name again further on.
    mutating func pair(_ leftObject: Int, _ rightObject: Int) -> JSONPairing {
        let leftNames = left.sortedNames(leftObject)
        let rightNames = right.sortedNames(rightObject)
        var pairing = JSONPairing()
        var (place, other) = (0, 0)
        while place < leftNames.count || other < rightNames.count {
            let order = order(leftNames, place, rightNames, other)
            let leftName = order <= 0 ? lastOfName(left, leftNames, &place, &pairing) : nil
            let rightName = order >= 0 ? lastOfName(right, rightNames, &other, &pairing) : nil
            if let leftName { left.setPartner(leftName, rightName.map { $0 + 1 } ?? 0) }
            if let rightName { right.setPartner(rightName, leftName.map { $0 + 1 } ?? 0) }
            if order != 0 { pairing.isComplete = false }
        }
        return pairing
    }

    /// How the next names stand to each other; where one list is at its end, the other's is first.
    private func order(
        _ leftNames: UnsafeMutableBufferPointer<UInt32>,
        _ place: Int,
        _ rightNames: UnsafeMutableBufferPointer<UInt32>,
        _ other: Int
    ) -> Int {
        guard place < leftNames.count else { return 1 }
        guard other < rightNames.count else { return -1 }
        let leftName = left.characters(Int(leftNames[place]))
        return JSONCharacters.order(leftName, right.characters(Int(rightNames[other])))
    }

    /// Moves over equal names to the last of them, and marks those before it.
    private func lastOfName(
        _ outline: borrowing JSONOutline,
        _ names: UnsafeMutableBufferPointer<UInt32>,
        _ place: inout Int,
        _ pairing: inout JSONPairing
    ) -> Int {
        var last = Int(names[place])
        place += 1
        while place < names.count {
            let next = Int(names[place])
            guard JSONCharacters.areEqual(outline.characters(last), outline.characters(next)) else { break }
            outline.setPartner(last, JSONOutline.shadowed)
            pairing.hasRepeats = true
            last = next
            place += 1
        }
        return last
    }
}
