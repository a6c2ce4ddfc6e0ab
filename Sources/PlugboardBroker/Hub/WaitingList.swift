// A list of what waits for others, which may answer in any order: calls for their answers, a gate for acknowledgements.
// It is in the order in which it came, each under a key that no other has. To remove one, or to find the first, takes
// one step, however many there are. Owned by whoever waits.

struct WaitingList<Key: Hashable, Element> {
    private var elements: [Key: (element: Element, number: Int)] = [:]
    /// The keys of those that came, also of some that are gone, from this number on. The first one is there.
    private var keys: ArraySlice<Key> = []

    var count: Int { elements.count }
    var isEmpty: Bool { elements.isEmpty }
    var first: Element? { keys.first.flatMap { elements[$0]?.element } }
    var all: [Element] { keys.indices.filter(isThere).compactMap { elements[keys[$0]]?.element } }

    subscript(key: Key) -> Element? { elements[key]?.element }

    /// It waits behind all others, even if it was here before.
    mutating func append(_ element: Element, as key: Key) {
        elements[key] = (element, keys.endIndex)
        keys.append(key)
        dropGone()
    }

    mutating func remove(_ key: Key) {
        elements[key] = nil
        dropGone()
    }

    private mutating func dropGone() {
        while let first = keys.indices.first, !isThere(first) { keys.removeFirst() }
        if keys.count <= 2 * elements.count + 16 { return }
        keys = ArraySlice(keys.indices.filter(isThere).map { keys[$0] })
        for place in keys.indices { elements[keys[place]]?.number = place }
    }

    /// Whether the key at this place is that of one who waits, and not of one who came again.
    private func isThere(_ place: Int) -> Bool { elements[keys[place]]?.number == place }
}
