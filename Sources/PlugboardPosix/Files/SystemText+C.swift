// Texts that C lends.
//
// Why its pointer is safe: C ends each text with NUL, and it is copied at once.

import PlugboardMemory

extension SystemText {
    /// A copy of a text that ends with NUL.
    static func text(_ pointer: UnsafePointer<CChar>) -> String {
        let bytes = unsafe UnsafeBufferPointer(start: pointer, count: strlen(pointer))
        return unsafe text(bytes.map { UInt8(bitPattern: $0) })
    }
}
