// The rules for client names: at most 64 bytes of text without control characters, and not `#` or `$` at
// the beginning. The broker itself uses these two: `#2` for a client without a name, `$broker` for
// itself.

import PlugboardMemory

/// Checks the names that clients give themselves.
public enum ClientName {
    /// Why a client may not have this name; nil if it may. `offset` is the name's place in its line.
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

    /// A name as one token of a key: a byte other than a letter, a digit, `-` and `_` is spelled `%20` and so on.
    public static func token(_ name: String) -> String {
        name.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }

    /// Whether there are control characters (C0, DEL or C1). `name` is well-formed UTF-8.
    private static func hasControl(_ name: Span<UInt8>) -> Bool {
        for index in name.indices {
            if name[index] < 0x20 || name[index] == 0x7F { return true }
            if index > 0, name[index - 1] == 0xC2, name[index] < 0xA0 { return true }
        }
        return false
    }
}
