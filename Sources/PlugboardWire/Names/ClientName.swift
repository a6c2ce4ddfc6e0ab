// What a client may call itself.

import PlugboardMemory

/// The rule for the names that clients give themselves.
public enum ClientName {
    /// Why a client may not have this name; nil where it may. `offset` is the name's place.
    public static func refusal(_ name: Span<UInt8>, at offset: Int) -> Refusal? {
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
    private static func hasControl(_ name: Span<UInt8>) -> Bool {
        for index in name.indices {
            if name[index] < 0x20 || name[index] == 0x7F { return true }
            if index > 0, name[index - 1] == 0xC2, name[index] < 0xA0 { return true }
        }
        return false
    }
}
