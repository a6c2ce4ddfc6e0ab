// Nothing that came over the bus or from another program reaches a terminal as it
// is: control characters could move the cursor, set the title or answer for the
// user, direction marks could show a text as another, and with what is invisible two
// texts look alike. They are shown as the escapes that JSON has for them, so that JSON
// stays JSON.

/// Makes text safe to show.
public enum Printable {
    /// With every control character but a tab, and everything else that can't be seen, spelled out.
    public static func text(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) {
                shown += escape(scalar)
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    /// Whether a character does more than stand for itself, or can't be seen.
    public static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value != 0x09 && InvisibleCharacters.contains(scalar)
    }

    /// A character as JSON spells it: beyond U+FFFF as a pair.
    public static func escape(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}
