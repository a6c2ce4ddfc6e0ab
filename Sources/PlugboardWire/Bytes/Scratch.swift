// Memory for what is worked out and forgotten again: it grows as it must and is kept
// for the next time, unless it grew beyond what is usual.

/// A list of plain elements in memory of its own. Not shared between threads.
struct Scratch<Element: BitwiseCopyable>: ~Copyable {
    /// The elements; valid until the next one is added.
    private(set) var elements = UnsafeMutableBufferPointer<Element>(start: nil, count: 0)
    private var memory = UnsafeMutableBufferPointer<Element>(start: nil, count: 0)

    /// Elements that are kept room for while nothing needs it.
    static var keptMax: Int { 16_384 }

    deinit {
        memory.deallocate()
    }

    var count: Int { elements.count }

    mutating func append(_ element: Element) {
        let count = elements.count
        if count == memory.count { grow() }
        memory.initializeElement(at: count, to: element)
        elements = UnsafeMutableBufferPointer(rebasing: memory[...count])
    }

    /// Forgets the elements, and gives back memory that is unusually large.
    mutating func removeAll() {
        elements = UnsafeMutableBufferPointer(start: nil, count: 0)
        guard memory.count > Self.keptMax else { return }
        memory.deallocate()
        memory = UnsafeMutableBufferPointer(start: nil, count: 0)
    }

    /// Sorts in place, in n·log n steps whatever the order was, and without more memory.
    func sort(by isBefore: (Element, Element) -> Bool) {
        if elements.count <= 16 { return insertionSort(by: isBefore) }
        for root in (0..<elements.count / 2).reversed() { sift(root, elements.count, isBefore) }
        for end in (1..<elements.count).reversed() {
            elements.swapAt(0, end)
            sift(0, end, isBefore)
        }
    }

    private func insertionSort(by isBefore: (Element, Element) -> Bool) {
        guard elements.count > 1 else { return }
        for next in 1..<elements.count {
            let element = elements[next]
            var place = next
            while place > 0, isBefore(element, elements[place - 1]) {
                elements[place] = elements[place - 1]
                place -= 1
            }
            elements[place] = element
        }
    }

    /// Restores the heap below `root`, of which only the root may be out of place.
    private func sift(_ root: Int, _ end: Int, _ isBefore: (Element, Element) -> Bool) {
        var root = root
        while 2 * root + 1 < end {
            var child = 2 * root + 1
            if child + 1 < end, isBefore(elements[child], elements[child + 1]) { child += 1 }
            guard isBefore(elements[root], elements[child]) else { return }
            elements.swapAt(root, child)
            root = child
        }
    }

    private mutating func grow() {
        let larger = UnsafeMutableBufferPointer<Element>.allocate(capacity: max(memory.count * 2, 64))
        _ = larger.initialize(fromContentsOf: elements)
        memory.deallocate()
        memory = larger
    }
}
