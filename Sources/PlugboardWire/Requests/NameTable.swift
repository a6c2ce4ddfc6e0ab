// Finds one of a few names by its word. There is one for each kind of name, made once and never changed.

/// Names of up to eight bytes, with their places in a list. Longer names aren't found.
struct NameTable: Sendable {
    private struct Entry {
        let word: UInt64
        let place: UInt8
    }

    /// In the order of the words.
    private let entries: [Entry]

    init(_ names: [StaticString]) {
        let entries = names.indices.map { Entry(word: names[$0].word, place: UInt8($0)) }
        self.entries = entries.filter { names[Int($0.place)].utf8CodeUnitCount <= 8 }
            .sorted { $0.word < $1.word }
    }

    /// The place of a name; nil if it isn't there.
    func place(of name: NameWord) -> UInt8? {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low &+ high) / 2
            if entries[middle].word < name.word { low = middle &+ 1 } else { high = middle }
        }
        guard low < entries.count, entries[low].word == name.word else { return nil }
        return entries[low].place
    }
}
