// Whether a text can be one token of a key. Programs check that before they make a key of what somebody
// typed.

import PlugboardWire

extension String {
    /// Whether this can be one token of a key that programs write, such as the `B07` of `catalog.B07`. A
    /// token isn't empty, has no dot, white space, control character, `*`, `"` or `\`, and doesn't begin
    /// with `$`. The broker checks the length of the whole key.
    public var isKeyToken: Bool {
        // Bytes, because a combining mark would hide a dot in a comparison of characters.
        guard !utf8.contains(UInt8(ascii: ".")), utf8.first != UInt8(ascii: "$") else { return false }
        return Key.fault(Array(utf8).span) == nil
    }
}
