// Makes text safe to show. Text from the bus or from another program never reaches a terminal unchanged.
// Control characters could move the cursor, set the title or type for the user. Direction marks and
// invisible characters could make one text look like another. All of them are shown as JSON escapes, so
// JSON stays JSON.

/// Shows text with escapes in place of harmful characters.
public enum Printable {
    /// The text with an escape in place of each harmful character.
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

    /// Whether a character is shown as an escape: it is invisible, or a control character except a tab.
    public static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value != 0x09 && InvisibleCharacters.contains(scalar)
    }

    /// A character as a JSON escape. Above U+FFFF it is a surrogate pair.
    public static func escape(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}
