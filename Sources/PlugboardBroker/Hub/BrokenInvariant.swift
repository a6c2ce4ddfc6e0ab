// What is reported if something that always holds doesn't: the structure, what should hold, and what was
// found. Each structure checks itself between two turns, and the hub checks how they fit together. Nothing
// that a peer sends can break one of these.

/// Something that should always hold, and doesn't.
struct BrokenInvariant: Error, Equatable, CustomStringConvertible {
    /// The structure whose state is wrong.
    let structure: String
    /// What should hold.
    let sentence: String
    /// A number or a name that was found; may be empty.
    let found: String

    var description: String {
        "\(structure): \(sentence)" + (found.isEmpty ? "" : " (\(found))")
    }
}

/// The checks of one structure.
struct Invariants {
    let structure: StaticString

    init(of structure: StaticString) {
        self.structure = structure
    }

    /// Throws unless `holds` is true. `of` names what the check is about.
    @inline(__always)
    func hold(
        _ sentence: StaticString,
        _ holds: Bool,
        of subject: @autoclosure () -> String = ""
    ) throws(BrokenInvariant) {
        if !holds { throw broken(sentence, subject()) }
    }

    /// Throws unless the stated number is the one that was found.
    @inline(__always)
    func agree<Number: Equatable>(
        _ sentence: StaticString,
        _ stated: Number,
        _ found: Number,
        of subject: @autoclosure () -> String = ""
    ) throws(BrokenInvariant) {
        if stated == found { return }
        let subject = subject()
        let numbers = "it says \(stated), found were \(found)"
        throw broken(sentence, subject.isEmpty ? numbers : "\(subject): \(numbers)")
    }

    @inline(never)
    private func broken(_ sentence: StaticString, _ found: String) -> BrokenInvariant {
        BrokenInvariant(structure: "\(structure)", sentence: "\(sentence)", found: found)
    }
}

/// What exists between two turns. Any other handle in the state is stale, and must not be followed.
struct Living {
    var observables: Set<ObservableHandle> = []
    var sessions: Set<SessionHandle> = []
    var subscriptions: Set<SubscriptionHandle> = []
}
