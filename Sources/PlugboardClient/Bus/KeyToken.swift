// Whether a text can stand between the dots of a key.

import PlugboardWire

extension String {
    /// Whether this can be one token of a key that programs write, such as the `B07` of
    /// `catalog.B07`: not empty, no dot, white space, control character, `*`, `"` or `\`,
    /// and no `$` at its beginning. How long a whole key may be is for the broker to say.
    public var isKeyToken: Bool {
        // Bytes, since a combining mark would hide a dot from a comparison of characters.
        guard !utf8.contains(UInt8(ascii: ".")), utf8.first != UInt8(ascii: "$") else { return false }
        return Key.fault(Array(utf8).span) == nil
    }
}
