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
    mutating func pair(_ leftObject: Int, _ rightObject: Int) -> JSONPairing {
        let leftNames = left.sortedNames(leftObject)
        let rightNames = right.sortedNames(rightObject)
        guard !left.hasRepeats(leftNames), !right.hasRepeats(rightNames) else { return .repeating }
        var pairing = JSONPairing.complete
        var (place, other) = (0, 0)
        while place < leftNames.count || other < rightNames.count {
            let order = order(leftNames, place, rightNames, other)
            if order != 0 { pairing = .partial }
            let leftName = order <= 0 ? Int(leftNames[place]) : nil
            let rightName = order >= 0 ? Int(rightNames[other]) : nil
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
}

extension JSONOutline {
    /// Whether a name occurs twice among the sorted names of an object.
    func hasRepeats(_ names: UnsafeMutableBufferPointer<UInt32>) -> Bool {
        guard names.count > 1 else { return false }
        for place in 1..<names.count {
            let (name, next) = (Int(names[place - 1]), Int(names[place]))
            if JSONCharacters.areEqual(characters(name), characters(next)) { return true }
        }
        return false
    }
}
