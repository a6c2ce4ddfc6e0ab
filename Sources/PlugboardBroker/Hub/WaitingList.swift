// A list of what waits for others, which may answer in any order: calls for their answers, a gate for acknowledgements.
// Owned by whoever waits.

/// What waits, in the order in which it came to this list, each under a key that no other has had. To remove one, or to
/// find the first, takes one step, however many there are.
struct WaitingList<Key: Hashable, Element> {
    private var elements: [Key: Element] = [:]
    /// The keys of those that came, also of some that are gone. Before `start`, all are gone.
    private var keys: [Key] = []
    private var start = 0

    var count: Int { elements.count }
    var isEmpty: Bool { elements.isEmpty }
    var first: Element? { isEmpty ? nil : elements[keys[start]] }
    var all: [Element] { left.compactMap { elements[$0] } }

    private var left: ArraySlice<Key> { keys[start...] }

    subscript(key: Key) -> Element? { elements[key] }

    mutating func append(_ element: Element, as key: Key) {
        elements[key] = element
        keys.append(key)
    }

    mutating func remove(_ key: Key) {
        elements[key] = nil
        while start < keys.count, elements[keys[start]] == nil { start += 1 }
        if keys.count > 2 * elements.count + 16 { (keys, start) = (left.filter { elements[$0] != nil }, 0) }
    }
}
