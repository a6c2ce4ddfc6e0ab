// A growable row of plain values with one owner. Unlike Array it is never shared, so
// no reference is counted and nothing is copied when it is changed through a pointer.

/// A list that owns its memory; empty lists own none.
struct List<Element: BitwiseCopyable>: ~Copyable {
    private var base: UnsafeMutablePointer<Element>?
    private var capacity: Int32 = 0
    private var length: Int32 = 0

    init() {}

    /// An empty one with room for some elements from the start.
    init(reserving count: Int32) {
        guard count > 0 else { return }
        base = .allocate(capacity: Int(count))
        capacity = count
    }

    deinit {
        base?.deallocate()
    }

    @inline(__always) var count: Int { Int(length) }
    @inline(__always) var isEmpty: Bool { length == 0 }

    /// The elements; valid until the next change.
    @inline(__always) var elements: UnsafeBufferPointer<Element> {
        UnsafeBufferPointer(start: base, count: Int(length))
    }

    /// The same, to be changed in place.
    @inline(__always) var mutableElements: UnsafeMutableBufferPointer<Element> {
        UnsafeMutableBufferPointer(start: base, count: Int(length))
    }

    mutating func append(_ element: Element) {
        if length == capacity { grow() }
        base?.advanced(by: Int(length)).initialize(to: element)
        length += 1
    }

    /// Removes the element at `index`; the last one takes its place.
    mutating func removeSwapping(at index: Int) {
        length -= 1
        if index != count, let base { base[index] = base[count] }
    }

    /// Removes and returns the last element.
    mutating func popLast() -> Element? {
        guard length > 0, let base else { return nil }
        length -= 1
        return base[count]
    }

    /// Forgets the elements and keeps the memory.
    mutating func removeAll() {
        length = 0
    }

    /// Forgets the first so many elements.
    mutating func removeFirst(_ number: Int) {
        let left = count - number
        if left > 0, number > 0, let base { base.update(from: base + number, count: left) }
        truncate(to: left)
    }

    /// Keeps the first `count` elements.
    mutating func truncate(to count: Int) {
        length = min(length, Int32(max(0, count)))
    }

    /// Forgets the elements and gives the memory back.
    mutating func releaseMemory() {
        base?.deallocate()
        base = nil
        capacity = 0
        length = 0
    }

    private mutating func grow() {
        // Most lists hold one element for ever: a subscription's keys, a key's observers.
        let wanted = capacity == 0 ? 1 : max(capacity * 2, 4)
        let fresh = UnsafeMutablePointer<Element>.allocate(capacity: Int(wanted))
        if let base {
            fresh.update(from: base, count: count)
            base.deallocate()
        }
        base = fresh
        capacity = wanted
    }
}
