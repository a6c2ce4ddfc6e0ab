// The hash of keys: eight bytes at a time by folded multiplication. Each table has a random seed, so that
// nobody can choose keys that collide.

import PlugboardMemory

struct KeyHash {
    private let seed = UInt64.random(in: .min ... .max)
    private static let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15

    @inline(__always)
    func callAsFunction(_ bytes: Span<UInt8>) -> UInt64 {
        var hash = seed ^ UInt64(truncatingIfNeeded: bytes.count)
        var offset = 0
        while offset + 8 <= bytes.count {
            hash = Self.fold(hash ^ bytes.word(at: offset))
            offset += 8
        }
        return Self.fold(hash ^ Self.rest(bytes, from: offset))
    }

    /// The last bytes, fewer than eight, as one number.
    @inline(__always)
    private static func rest(_ bytes: Span<UInt8>, from start: Int) -> UInt64 {
        if bytes.count >= 8 { return bytes.word(at: bytes.count - 8) }
        var rest: UInt64 = 0
        var offset = start
        while offset < bytes.count {
            rest = rest << 8 | UInt64(bytes[offset])
            offset += 1
        }
        return rest
    }

    @inline(__always)
    private static func fold(_ value: UInt64) -> UInt64 {
        let product = (value ^ 0xA076_1D64_78BD_642F).multipliedFullWidth(by: multiplier)
        return product.high ^ product.low
    }
}
