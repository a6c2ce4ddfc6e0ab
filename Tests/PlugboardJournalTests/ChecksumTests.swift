// CRC-32C compared with published values, and its two implementations with each other.

import PlugboardJournal
import Testing

@testable import PlugboardPosix
import TestSupport

@Suite struct ChecksumTests {
    private func checksum(_ bytes: [UInt8]) -> UInt32 {
        Checksum.extended(0, by: bytes.span)
    }

    @Test func `the published values come out`() {
        // RFC 3720, appendix B.4.
        #expect(checksum(Array(repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(checksum(Array(repeating: 0xFF, count: 32)) == 0x62A8_AB43)
        #expect(checksum(Array(0..<32)) == 0x46DD_794E)
        #expect(checksum(Array("123456789".utf8)) == 0xE306_9283)
    }

    @Test func `tables and instruction agree at every length, and in pieces`() {
        var random = SeededRandom(seed: 1)
        let bytes = (0..<700).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        for count in 0...700 {
            let part = bytes.span[..<count]
            let whole = Checksum.extended(7, by: part)
            #expect(whole == Checksum.byTables(7, part))
            let head = part[..<(count / 3)]
            let rest = part[(count / 3)...]
            #expect(Checksum.extended(Checksum.extended(7, by: head), by: rest) == whole)
        }
    }
}
