// What is said when something that always holds doesn't: of which structure, what should hold,
// and what was found. Each structure of the state checks itself between two turns, the hub
// what they say of each other. Nothing a peer sends can break one of these.

/// Something that always holds, and doesn't.
struct BrokenInvariant: Error, Equatable, CustomStringConvertible {
    /// Whose state it is.
    let structure: String
    /// What should hold.
    let sentence: String
    /// What was found, where that is a number or a name.
    let found: String

    var description: String {
        "\(structure): \(sentence)" + (found.isEmpty ? "" : " (\(found))")
    }
}

/// Asks what always holds of one structure.
struct Invariants {
    let structure: StaticString

    init(of structure: StaticString) {
        self.structure = structure
    }

    /// Throws unless it holds. `of` names what it is about.
    @inline(__always)
    func hold(
        _ sentence: StaticString,
        _ holds: Bool,
        of subject: @autoclosure () -> String = ""
    ) throws(BrokenInvariant) {
        if !holds { throw broken(sentence, subject()) }
    }

    /// Throws unless what is stated is what was found.
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

/// Who is there between two turns: what else is named in the state is gone, and must not be followed.
struct Living {
    var observables: Set<ObservableHandle> = []
    var sessions: Set<SessionHandle> = []
    var subscriptions: Set<SubscriptionHandle> = []
}
