// A fixed number of bytes with one owner, for what never grows: a key and the room beside it, a
// value, a name. Smaller than a `ByteBuffer`: of some things there are a million.
//
// Why the raw memory is safe: all `count` bytes are written when the block is made, every place is
// checked against `count`, the memory has no other owner (the type can't be copied), and spans of
// it can't outlive a borrow of the block.

/// Bytes in one piece of memory. Not shared between threads.
@safe
public struct ByteBlock: ~Copyable {
    @usableFromInline let start: UnsafeMutablePointer<UInt8>?
    @usableFromInline let size: UInt32

    /// Holds nothing and owns no memory.
    @inlinable
    public init() {
        unsafe start = nil
        size = 0
    }

    /// So many zeros.
    public init(count: Int) {
        size = UInt32(count)
        unsafe start = count > 0 ? .allocate(capacity: count) : nil
        unsafe start?.initialize(repeating: 0, count: count)
    }

    /// A copy of bytes.
    public init(_ bytes: Span<UInt8>) {
        self.init(count: bytes.count)
        write(bytes, at: 0)
    }

    deinit {
        unsafe start?.deallocate()
    }

    @inlinable public var count: Int { Int(size) }
    @inlinable public var isEmpty: Bool { size == 0 }

    /// All of them.
    @inlinable
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get {
            let span = unsafe Span(_unsafeElements: UnsafeBufferPointer(start: start, count: count))
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Writes bytes over those from a place on; there has to be room for all of them.
    @inlinable
    @inline(__always)
    public mutating func write(_ source: Span<UInt8>, at place: Int) {
        precondition(place >= 0 && source.count <= count &- place)
        guard let start = unsafe start else { return }
        unsafe source.withUnsafeBufferPointer { source in
            guard let first = source.baseAddress else { return }
            unsafe (start + place).update(from: first, count: source.count)
        }
    }

    /// Whether these bytes stand at a place.
    @inlinable
    @inline(__always)
    public func holds(_ other: Span<UInt8>, at place: Int) -> Bool {
        precondition(place >= 0 && other.count <= count &- place)
        guard let start = unsafe start else { return other.isEmpty }
        return unsafe Span(_unsafeStart: start + place, count: other.count).isEqual(to: other)
    }

    /// The eight bytes from a place on, as they were written by `setWord`.
    @inlinable
    @inline(__always)
    public func word(at place: Int) -> UInt64 { bytes.word(at: place) }

    @inlinable
    public mutating func setWord(_ word: UInt64, at place: Int) {
        precondition(place >= 0 && place &+ 8 <= count)
        guard let start = unsafe start else { return }
        unsafe UnsafeMutableRawPointer(start + place).storeBytes(of: word.littleEndian, as: UInt64.self)
    }
}
