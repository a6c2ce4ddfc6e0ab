// A growable list of plain values with one owner. Unlike an Array, it has no reference count, and it is
// never copied when an element changes.
//
// Why the raw memory is safe: 0 ≤ length ≤ capacity always holds. The first `length` elements were
// written. Every index is checked. The type can't be copied, so the memory has one owner. A span of it
// can't outlive a borrow of the list.
//
// What runs at each access is transparent, as in `Slab`.

import CPlatform

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// An element all of whose bytes may be zero.
public protocol Zeroable: BitwiseCopyable {}

/// A list that owns its memory. It has none before its first element. Only one thread uses it.
@safe
public struct List<Element: BitwiseCopyable>: ~Copyable {
    @usableFromInline var base: UnsafeMutablePointer<Element>?
    @usableFromInline var capacity: Int32 = 0
    @usableFromInline var length: Int32 = 0

    @inlinable
    public init() {
        unsafe base = nil
    }

    /// An empty list with room for `count` elements.
    @inlinable
    public init(reserving count: Int32) {
        unsafe base = nil
        guard count > 0 else { return }
        precondition(MemoryLayout<Element>.alignment <= 16)
        unsafe base = List.allocated(Int(count), zeroed: false)
        capacity = count
    }

    /// `count` times the same element.
    @inlinable
    public init(repeating element: Element, count: Int) {
        self.init(reserving: Int32(count))
        unsafe base?.initialize(repeating: element, count: count)
        length = Int32(count)
    }

    /// Memory for `count` elements, at least one. Stops the program if there is none.
    @usableFromInline
    static func allocated(_ count: Int, zeroed: Bool) -> UnsafeMutablePointer<Element> {
        let stride = MemoryLayout<Element>.stride
        guard let memory = unsafe zeroed ? calloc(count, stride) : malloc(count * stride) else {
            preconditionFailure("no memory for \(count) elements")
        }
        return unsafe memory.assumingMemoryBound(to: Element.self)
    }

    deinit {
        unsafe free(base)
    }

    @_transparent public var count: Int { Int(length) }
    @_transparent public var isEmpty: Bool { length == 0 }
    @_transparent public var indices: Range<Int> { 0..<count }

    @_transparent public var first: Element? { isEmpty ? nil : self[0] }
    @_transparent public var last: Element? { isEmpty ? nil : self[count &- 1] }

    @inlinable
    public subscript(index: Int) -> Element {
        @_transparent
        unsafeAddress { unsafe UnsafePointer(place(of: index)) }
        @_transparent
        unsafeMutableAddress { unsafe place(of: index) }
    }

    @_transparent
    @usableFromInline
    func place(of index: Int) -> UnsafeMutablePointer<Element> {
        guard let base = unsafe base, index >= 0, index < count else { outOfBounds(index) }
        return unsafe base + index
    }

    @usableFromInline
    @inline(never)
    func outOfBounds(_ index: Int) -> Never {
        preconditionFailure("a list of \(count) has no element \(index)")
    }

    /// Asks for the memory of an element that will be read soon, without waiting for it.
    @inlinable
    @inline(__always)
    public func prefetch(_ index: Int) {
        unsafe plugboard_prefetch(place(of: index), 1)
    }

    /// The elements, without copying them.
    @inlinable
    public var span: Span<Element> {
        @_lifetime(borrow self)
        borrowing get {
            let elements = unsafe UnsafeBufferPointer(start: base, count: count)
            let span = unsafe Span(_unsafeElements: elements)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// A copy of the elements, for code that changes the list meanwhile.
    public var all: [Element] {
        var copy: [Element] = []
        copy.reserveCapacity(count)
        for index in indices { copy.append(self[index]) }
        return copy
    }

    /// The elements, to change in place.
    @inlinable
    public var mutableSpan: MutableSpan<Element> {
        @_lifetime(&self)
        mutating get {
            let elements = unsafe UnsafeMutableBufferPointer(start: base, count: count)
            let span = unsafe MutableSpan(_unsafeElements: elements)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    @_transparent
    public mutating func append(_ element: Element) {
        if length == capacity { grow() }
        unsafe base?.advanced(by: count).initialize(to: element)
        length &+= 1
    }

    /// Removes the element at `index` and puts the last one in its place.
    @inlinable
    public mutating func removeSwapping(at index: Int) {
        let last = self[count &- 1]
        self[index] = last
        length &-= 1
    }

    /// Removes one element that is equal, if there is one; the last takes its place. Returns whether there
    /// was. Takes time with the length.
    @inlinable
    @discardableResult
    public mutating func remove(_ element: Element) -> Bool where Element: Equatable {
        for index in 0..<count where self[index] == element {
            removeSwapping(at: index)
            return true
        }
        return false
    }

    /// Removes and returns the last element.
    @inlinable
    public mutating func popLast() -> Element? {
        guard let last else { return nil }
        length &-= 1
        return last
    }

    /// Removes all elements and keeps the memory.
    @inlinable
    public mutating func removeAll() {
        length = 0
    }

    /// Removes all elements. Frees the memory if it has room for more than `keptMax` elements.
    @inlinable
    public mutating func removeAll(keeping keptMax: Int) {
        length = 0
        if Int(capacity) > keptMax { releaseMemory() }
    }

    /// Removes the first `number` elements.
    @inlinable
    public mutating func removeFirst(_ number: Int) {
        precondition(number >= 0 && number <= count)
        if let base = unsafe base { unsafe base.update(from: base + number, count: count &- number) }
        truncate(to: count &- number)
    }

    /// Keeps only the first `count` elements.
    @inlinable
    public mutating func truncate(to count: Int) {
        length = Int32(min(self.count, max(0, count)))
    }

    /// Removes all elements and frees the memory.
    public mutating func releaseMemory() {
        unsafe free(base)
        unsafe base = nil
        capacity = 0
        length = 0
    }

    /// Whether there is memory, of elements or for more of them.
    @inlinable public var hasMemory: Bool { capacity > 0 }

    /// Gives back the memory for `number` elements, if most of it has none and it has room for more than
    /// `keptMax`: to give back very much at once takes milliseconds. Returns whether that was all.
    public mutating func shrink(by number: Int, keeping keptMax: Int = 0) -> Bool {
        let wanted = max(keptMax, count, Int(capacity) - number)
        guard Int(capacity) > keptMax, count < Int(capacity) / 4 || isEmpty else { return true }
        if wanted == 0 { releaseMemory() } else { reallocate(Int32(wanted)) }
        return Int(capacity) <= max(keptMax, count * 4)
    }

    @usableFromInline
    @inline(never)
    mutating func grow() {
        // Many lists never have more than one element, such as a subscription's keys.
        reallocate(capacity == 0 ? 1 : max(capacity * 2, 4))
    }

    /// Makes room for `count` elements, and no more.
    public mutating func reserve(_ count: Int) {
        if count > Int(capacity) { reallocate(Int32(count)) }
    }

    private mutating func reallocate(_ wanted: Int32) {
        // For a large piece, `realloc` moves pages instead of copying bytes.
        let bytes = Int(wanted) * MemoryLayout<Element>.stride
        guard let fresh = unsafe realloc(base, bytes) else {
            preconditionFailure("no memory for \(bytes) bytes")
        }
        unsafe base = fresh.assumingMemoryBound(to: Element.self)
        capacity = wanted
    }
}

extension List where Element: Zeroable {
    /// `count` elements of which all bytes are zero. Many of them take up no pages until they are written.
    public init(zeroed count: Int) {
        self.init()
        guard count > 0 else { return }
        unsafe base = List.allocated(count, zeroed: true)
        capacity = Int32(count)
        length = Int32(count)
    }
}

extension List {
    /// Sorts in place with O(n log n) comparisons and without more memory. Not stable.
    public mutating func sort(by isBefore: (Element, Element) -> Bool) {
        if count <= 16 { return insertionSort(by: isBefore) }
        for root in (0..<count / 2).reversed() { sift(root, count, isBefore) }
        for end in (1..<count).reversed() {
            swap(0, end)
            sift(0, end, isBefore)
        }
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        let element = self[left]
        self[left] = self[right]
        self[right] = element
    }

    private mutating func insertionSort(by isBefore: (Element, Element) -> Bool) {
        guard count > 1 else { return }
        for next in 1..<count {
            let element = self[next]
            var place = next
            while place > 0, isBefore(element, self[place - 1]) {
                self[place] = self[place - 1]
                place -= 1
            }
            self[place] = element
        }
    }

    /// Restores the heap below `root`, if only the root may be out of place.
    private mutating func sift(_ root: Int, _ end: Int, _ isBefore: (Element, Element) -> Bool) {
        var root = root
        while 2 * root + 1 < end {
            var child = 2 * root + 1
            if child + 1 < end, isBefore(self[child], self[child + 1]) { child += 1 }
            guard isBefore(self[root], self[child]) else { return }
            swap(root, child)
            root = child
        }
    }
}
