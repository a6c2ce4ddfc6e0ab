// A number for everything that was told, line by line: FNV-1a of each client's name and the bytes of its
// line.

/// Changes with each line. Two fingerprints of the same lines are equal.
struct Fingerprint: Equatable {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ line: String, to client: String) {
        // No line contains these bytes, so a name and a line can't run together.
        for byte in client.utf8 { mix(byte) }
        mix(0)
        for byte in line.utf8 { mix(byte) }
        mix(0x0A)
    }

    private mutating func mix(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}
