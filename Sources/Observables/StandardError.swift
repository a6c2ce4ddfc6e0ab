// Lines on standard error, without Foundation. Only reports of mistakes in a program go there.
//
// Why the pointer is safe: it points to the bytes of an array, only for the one call that reads them.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

enum StandardError {
    /// Writes a line, as far as there is room.
    static func line(_ text: String) {
        let bytes = Array("\(text)\n".utf8)
        unsafe bytes.withUnsafeBytes { bytes in
            _ = unsafe write(STDERR_FILENO, bytes.baseAddress, bytes.count)
        }
    }
}
