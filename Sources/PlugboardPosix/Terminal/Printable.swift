// Nothing that came over the bus or from another program reaches a terminal as it
// is: control characters could move the cursor, set the title or answer for the
// user, and direction marks could show a text as another. They are shown as the
// escapes that JSON has for them, so that JSON stays JSON.

/// Makes text safe to show.
public enum Printable {
    /// With every control character but a tab, and every direction mark, spelled out.
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

    /// Whether a character does more than stand for itself.
    public static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09: false
        case 0..<0x20, 0x7F..<0xA0: true
        // Marks, embeddings, overrides and isolates of direction; line and paragraph separator.
        case 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// A character as JSON spells it.
    public static func escape(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
