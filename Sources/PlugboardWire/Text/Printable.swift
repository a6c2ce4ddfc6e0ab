// Makes text safe to show. Text from the bus or from another program never reaches a
// terminal unchanged: control characters could move the cursor, set the title or type for
// the user. Direction marks could show one text as another, and invisible characters make
// two texts look alike. All of them are shown as JSON's escapes, so JSON stays JSON.

/// Makes text safe to show.
public enum Printable {
    /// The text with escapes in place of invisible characters and of all control characters except
    /// a tab.
    public static func text(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: needsEscape) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if needsEscape(scalar) {
                shown += escape(scalar)
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    /// Whether a character is shown as an escape.
    public static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value != 0x09 && InvisibleCharacters.contains(scalar)
    }

    /// A character as JSON's escape. Above U+FFFF it is a pair.
    public static func escape(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}
