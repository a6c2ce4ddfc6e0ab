// What a client may call itself.

/// The rule for the names that clients give themselves.
public enum ClientName {
    /// Why a client may not have this name; nil where it may. `offset` is the name's place.
    public static func refusal(_ name: UnsafeRawBufferPointer, at offset: Int) -> Refusal? {
        guard name.count <= Limits.nameBytesMax else {
            return Refusal(.limit, "a name has at most \(Limits.nameBytesMax) bytes", at: offset)
        }
        let isWellFormed = UTF8Sequence.firstMalformed(name) == nil
        guard isWellFormed, !hasControl(name), let first = name.first else {
            return Refusal(.wrongType, "a name is text without control characters", at: offset)
        }
        guard first != UInt8(ascii: "#"), first != UInt8(ascii: "$") else {
            return Refusal(.wrongType, "a name does not begin with # or $", at: offset)
        }
        return nil
    }

    /// C0, DEL and C1, in well-formed UTF-8.
    private static func hasControl(_ name: UnsafeRawBufferPointer) -> Bool {
        zip(name, name.dropFirst()).contains { $0 == 0xC2 && $1 < 0xA0 }
            || name.contains { $0 < 0x20 || $0 == 0x7F }
    }
}
