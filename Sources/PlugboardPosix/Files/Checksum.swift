// CRC-32C (Castagnoli), which iSCSI (RFC 3720, section 12.1 and appendix B.4) and file systems use
// against bits that change by themselves. It uses the processor's instruction if there is one, and
// otherwise tables, eight bytes at a time.
//
// Why its pointer is safe: a span gives its own address and count, for the length of one call.

import PlugboardMemory

/// A running CRC-32C: the result for one piece is the start for the next.
public enum Checksum {
    private static let hasInstruction = plugboard_has_crc32c() != 0

    /// The checksum of `bytes` behind bytes whose checksum is `previous`; 0 for none.
    public static func extended(_ previous: UInt32, by bytes: Span<UInt8>) -> UInt32 {
        guard hasInstruction else { return byTables(previous, bytes) }
        return unsafe bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return previous }
            return unsafe ~plugboard_crc32c(~previous, base, bytes.count)
        }
    }

    /// The same where the processor has no instruction for it.
    static func byTables(_ previous: UInt32, _ bytes: Span<UInt8>) -> UInt32 {
        var state = ~previous
        var index = 0
        let tables = tables.span
        while bytes.count - index >= 8 {
            state = folded(bytes.word(at: index) ^ UInt64(state), tables)
            index += 8
        }
        while index < bytes.count {
            state = state >> 8 ^ tables[Int(UInt8(truncatingIfNeeded: state) ^ bytes[index])]
            index += 1
        }
        return ~state
    }

    /// Eight bytes at once: the first has the furthest to go.
    private static func folded(_ word: UInt64, _ tables: Span<UInt32>) -> UInt32 {
        var sum: UInt32 = 0
        for byte in 0..<8 {
            let value = Int(UInt8(truncatingIfNeeded: word >> UInt64(8 * byte)))
            sum ^= tables[(7 - byte) * 256 + value]
        }
        return sum
    }

    /// Eight tables of 256: what a byte becomes after so many more zero bytes.
    private static let tables: [UInt32] = {
        var tables = (0..<256).map { byte -> UInt32 in
            (0..<8).reduce(UInt32(byte)) { state, _ in
                state & 1 == 1 ? state >> 1 ^ 0x82F6_3B78 : state >> 1
            }
        }
        for index in 256..<(8 * 256) {
            let before = tables[index - 256]
            tables.append(before >> 8 ^ tables[Int(before & 0xFF)])
        }
        return tables
    }()
}
