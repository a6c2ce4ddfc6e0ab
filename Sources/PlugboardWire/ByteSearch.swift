// The C library's search for a byte: the one function that this module takes from it,
// since no loop in Swift comes near it.

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Finds a byte.
enum ByteSearch {
    /// The offset of the first `byte` at or after `start`.
    @inline(__always)
    static func first(_ byte: UInt8, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = bytes.baseAddress, start < bytes.count else { return nil }
        guard let found = memchr(base + start, Int32(byte), bytes.count - start) else { return nil }
        return UnsafeRawPointer(found) - base
    }
}
