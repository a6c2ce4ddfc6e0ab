// Writes pieces one after the other into memory that was reserved for all of them, so
// that room is not asked for with each piece.

/// A place in reserved memory, which moves on with what is written.
public struct ByteWriter {
    @usableFromInline let start: UnsafeMutableRawPointer
    @usableFromInline var place: UnsafeMutableRawPointer

    /// `start` has room for everything that will be written.
    @inlinable
    @inline(__always)
    public init(_ start: UnsafeMutableRawPointer) {
        self.start = start
        place = start
    }

    /// Bytes written so far.
    @inlinable public var count: Int { place - start }

    @inlinable
    @inline(__always)
    public mutating func write(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        place.copyMemory(from: base, byteCount: bytes.count)
        place += bytes.count
    }

    /// Writes a literal, whose length the compiler knows.
    @inlinable
    @inline(__always)
    public mutating func write(_ text: StaticString) {
        place.copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
        place += text.utf8CodeUnitCount
    }

    /// Writes a number; needs room for 24 bytes, whatever it takes.
    @inline(__always)
    public mutating func write(decimal value: UInt64) {
        place += DecimalDigits.write(value, to: place)
    }

    /// Writes the first `count` bytes of a value as they lie in memory; needs room for all of them.
    @inlinable
    @inline(__always)
    public mutating func write<Value: BitwiseCopyable>(_ value: Value, count: Int) {
        place.storeBytes(of: value, as: Value.self)
        place += count
    }
}
