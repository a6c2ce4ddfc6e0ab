// Bytes whose number never changes, with one owner: a key and the bytes beside it, a value, a name. A
// broker can have a million of them, so a block takes less memory than a `ByteBuffer`.
//
// Why the raw memory is safe: `init` writes all `count` bytes. Every offset is checked against `count`.
// The type can't be copied, so the memory has one owner. A span of it can't outlive a borrow of the
// block.

import CPlatform

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A fixed number of bytes. Not shared between threads.
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

    /// `count` zeros.
    public init(count: Int) {
        size = UInt32(count)
        guard count > 0 else {
            unsafe start = nil
            return
        }
        // What Swift allocates goes through a function that aligns it once more.
        guard let memory = unsafe malloc(count) else { preconditionFailure("no memory for \(count) bytes") }
        unsafe start = memory.initializeMemory(as: UInt8.self, repeating: 0, count: count)
    }

    /// A copy of `bytes`.
    public init(_ bytes: Span<UInt8>) {
        self.init(count: bytes.count)
        write(bytes, at: 0)
    }

    deinit {
        unsafe free(start)
    }

    @inlinable public var count: Int { Int(size) }
    @inlinable public var isEmpty: Bool { size == 0 }

    @inlinable
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get {
            let span = unsafe Span(_unsafeElements: UnsafeBufferPointer(start: start, count: count))
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Asks for the memory of the first `upTo` bytes, which will be read soon, without waiting for it.
    @inlinable
    @inline(__always)
    public func prefetch(upTo most: Int) {
        if let start = unsafe start { unsafe plugboard_prefetch(start, min(count, most)) }
    }

    /// Overwrites the bytes from `place` on. Stops the program if `source` doesn't fit.
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

    /// Whether the bytes from `place` on are those of `other`. Stops the program if `other` doesn't fit.
    @inlinable
    @inline(__always)
    public func holds(_ other: Span<UInt8>, at place: Int) -> Bool {
        precondition(place >= 0 && other.count <= count &- place)
        guard let start = unsafe start else { return other.isEmpty }
        return unsafe Span(_unsafeStart: start + place, count: other.count).isEqual(to: other)
    }

    /// The four bytes from `place` on, as `setHalfWord` wrote them.
    @inlinable
    @inline(__always)
    public func halfWord(at place: Int) -> UInt32 {
        precondition(place >= 0 && place &+ 4 <= count)
        guard let start = unsafe start else { return 0 }
        return unsafe UnsafeRawPointer(start + place).loadUnaligned(as: UInt32.self)
    }

    @inlinable
    public mutating func setHalfWord(_ halfWord: UInt32, at place: Int) {
        precondition(place >= 0 && place &+ 4 <= count)
        guard let start = unsafe start else { return }
        unsafe UnsafeMutableRawPointer(start + place).storeBytes(of: halfWord, as: UInt32.self)
    }
}
