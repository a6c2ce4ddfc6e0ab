// A growable buffer of bytes with one owner; inboxes, outboxes and encoders use it. Bytes are added at
// the back and removed from the front. The buffer has no memory before its first byte. It can also give
// its memory back, so an idle connection holds none.
//
// Why the raw memory is safe: front ≤ back ≤ capacity always holds. The bytes from start to end were
// written; only `append(upTo:)` trusts its caller with that, and any byte is a valid UInt8. The type
// can't be copied, so the memory has one owner. A span of it can't outlive a borrow of the buffer.

/// A queue of bytes in one piece of memory. Only one thread uses it.
@safe
public struct ByteBuffer: ~Copyable {
    @usableFromInline var storage: UnsafeMutablePointer<UInt8>?
    // Half as large as Int, because each connection has two buffers.
    @usableFromInline var capacity: UInt32 = 0
    @usableFromInline var front: UInt32 = 0
    @usableFromInline var back: UInt32 = 0

    /// An empty buffer without memory.
    @inlinable
    public init() {
        unsafe storage = nil
    }

    deinit {
        unsafe storage?.deallocate()
    }

    /// The number of bytes in the queue, at most `bytesMax`.
    @inlinable public var count: Int { Int(back &- front) }
    @inlinable public var isEmpty: Bool { back == front }
    /// The number of bytes of memory that the buffer owns.
    @inlinable public var allocatedBytes: Int { Int(capacity) }
    /// A buffer has at most so many bytes. More stop the program.
    public static var bytesMax: Int { Int(UInt32.max) }

    @_transparent @usableFromInline var start: Int { Int(front) }
    @_transparent @usableFromInline var end: Int { Int(back) }
    /// The bytes behind the last one.
    @_transparent @usableFromInline var room: Int { Int(capacity &- back) }

    /// `count` bytes were written behind the last one.
    @_transparent
    @usableFromInline
    mutating func noteAdded(_ count: Int) { back &+= UInt32(truncatingIfNeeded: count) }

    /// The bytes in the queue, without copying them.
    @inlinable
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get {
            let first = unsafe storage.map { unsafe UnsafePointer($0 + start) }
            let span = unsafe Span(_unsafeElements: UnsafeBufferPointer(start: first, count: end &- start))
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// The bytes in the queue, to change in place.
    @inlinable
    public var mutableBytes: MutableSpan<UInt8> {
        @_lifetime(&self)
        mutating get {
            let first = unsafe storage.map { unsafe $0 + start }
            let elements = unsafe UnsafeMutableBufferPointer(start: first, count: end &- start)
            let span = unsafe MutableSpan(_unsafeElements: elements)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    /// Removes all bytes and keeps the memory.
    @inlinable
    public mutating func removeAll() {
        front = 0
        back = 0
    }

    /// Keeps only the first `count` bytes.
    @inlinable
    public mutating func truncate(to count: Int) {
        if count < self.count { back = front &+ UInt32(truncatingIfNeeded: max(0, count)) }
    }

    /// Removes `count` bytes from the front, or all if there are fewer.
    @inlinable
    public mutating func removeFirst(_ count: Int) {
        front &+= UInt32(truncatingIfNeeded: min(max(0, count), self.count))
        if isEmpty { removeAll() }
    }

    /// Removes all bytes and gives the memory back.
    public mutating func releaseMemory() {
        unsafe storage?.deallocate()
        unsafe storage = nil
        capacity = 0
        removeAll()
    }

    /// Whether `count` bytes can be added without another allocation.
    public func hasRoom(for count: Int) -> Bool {
        room >= count || start >= self.count && allocatedBytes - self.count >= count
    }

    /// Makes sure that `count` more bytes can be added without another allocation.
    @inlinable
    @inline(__always)
    public mutating func reserve(_ count: Int) {
        if room < count { _ = unsafe grow(by: count) }
    }

    /// The address of the next byte, with room for `count` bytes.
    @inlinable
    @inline(__always)
    mutating func place(for count: Int) -> UnsafeMutablePointer<UInt8> {
        if let storage = unsafe storage, room >= count { return unsafe storage + end }
        return unsafe grow(by: count)
    }

    /// Adds bytes from elsewhere. They can't be this buffer's own, because growing frees those.
    @inlinable
    @inline(__always)
    mutating func append(from first: UnsafePointer<UInt8>, count: Int) {
        unsafe place(for: count).initialize(from: first, count: count)
        noteAdded(count)
    }

    /// Lets `body` write up to `count` bytes at the back. `body` returns how many it wrote. If it returns
    /// more than `count`, the program stops. If it throws, nothing is added.
    @inlinable
    public mutating func append<Failure: Error>(
        upTo count: Int, _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Int
    ) throws(Failure) {
        reserve(count)
        guard let storage = unsafe storage, count > 0 else { return }
        var room = unsafe MutableSpan(_unsafeStart: storage + end, count: count)
        let written = try body(&room)
        precondition(written >= 0 && written <= count)
        noteAdded(written)
    }

    /// Adds bytes at the back.
    @inlinable
    @inline(__always)
    public mutating func append(_ source: Span<UInt8>) {
        unsafe source.withUnsafeBufferPointer { source in
            guard let first = source.baseAddress else { return }
            unsafe append(from: first, count: source.count)
        }
    }

    /// Adds the bytes of another buffer. Use this if both buffers are fields of one structure: a span of
    /// one would lock the other as well.
    @inlinable
    @inline(__always)
    public mutating func append(contentsOf other: borrowing ByteBuffer) {
        append(other.bytes)
    }

    /// Adds a copy of some of the buffer's own bytes at the back.
    public mutating func append(again range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        reserve(range.count)
        guard let storage = unsafe storage else { return }
        unsafe (storage + end).update(from: storage + start + range.lowerBound, count: range.count)
        noteAdded(range.count)
    }

    /// Adds the bytes of a literal.
    @inlinable
    @inline(__always)
    public mutating func append(_ text: StaticString) {
        unsafe append(from: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    @inlinable
    @inline(__always)
    public mutating func append(byte: UInt8) {
        unsafe place(for: 1).initialize(to: byte)
        noteAdded(1)
    }

    /// Adds the lowest `count` bytes of a word, the lowest byte first. `count` is at most 8.
    @inlinable
    @inline(__always)
    public mutating func append(word: UInt64, count: Int) {
        precondition(count >= 0 && count <= 8)
        let place = unsafe UnsafeMutableRawPointer(place(for: 8))
        unsafe place.storeBytes(of: word.littleEndian, as: UInt64.self)
        noteAdded(count)
    }

    /// Adds the UTF-8 of a string. Too slow for code that runs for each message.
    public mutating func append(string text: String) {
        var text = text
        text.withUTF8 { utf8 in
            let span = unsafe Span(_unsafeElements: utf8)
            append(span)
        }
    }

    /// Makes room for `count` bytes and returns the address of the next one. Moves the bytes to the front
    /// if that gives enough room and the two places don't overlap. Otherwise at least doubles the memory.
    @usableFromInline
    @inline(never)
    mutating func grow(by count: Int) -> UnsafeMutablePointer<UInt8> {
        let waiting = self.count
        defer { (front, back) = (0, UInt32(truncatingIfNeeded: waiting)) }
        if let storage = unsafe storage, start >= waiting, allocatedBytes - waiting >= count {
            unsafe storage.update(from: storage + start, count: waiting)
            return unsafe storage + waiting
        }
        let wanted = max(waiting + count, min(allocatedBytes * 2, Self.bytesMax), 64)
        precondition(wanted <= Self.bytesMax, "a buffer is full")
        let fresh = UnsafeMutablePointer<UInt8>.allocate(capacity: wanted)
        if let storage = unsafe storage {
            unsafe fresh.update(from: storage + start, count: waiting)
            unsafe storage.deallocate()
        }
        unsafe storage = fresh
        capacity = UInt32(truncatingIfNeeded: wanted)
        return unsafe fresh + waiting
    }
}
