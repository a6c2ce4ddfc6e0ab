// Writes pieces one after the other into memory that was reserved for all of them, so
// that room is not asked for with each piece.

/// A place in reserved memory, which moves on with what is written.
struct ByteWriter {
    private let start: UnsafeMutableRawPointer
    private var place: UnsafeMutableRawPointer

    /// `start` has room for everything that will be written.
    @inline(__always)
    init(_ start: UnsafeMutableRawPointer) {
        self.start = start
        place = start
    }

    /// Bytes written so far.
    @inline(__always) var count: Int { place - start }

    @inline(__always)
    mutating func write(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        place.copyMemory(from: base, byteCount: bytes.count)
        place += bytes.count
    }

    /// Writes a literal, whose length the compiler knows.
    @inline(__always)
    mutating func write(_ text: StaticString) {
        place.copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
        place += text.utf8CodeUnitCount
    }

    /// Writes a number; needs room for 24 bytes, whatever it takes.
    @inline(__always)
    mutating func write(decimal value: UInt64) {
        place += DecimalDigits.write(value, to: place)
    }
}
