// Nothing that came over the bus or from another program reaches a terminal as it
// is: control characters could move the cursor, set the title or answer for the
// user, and direction marks could show a text as another. They are shown as the
// escapes that JSON has for them, so that JSON stays JSON.

/// Makes text safe to show.
enum Printable {
    /// With every control character but a tab, and every direction mark, spelled out.
    static func text(_ text: String, keepingLines: Bool = false) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar), !(keepingLines && scalar == "\n") {
                shown += escape(scalar)
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    /// The same for bytes; what is not UTF-8 becomes U+FFFD.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        text(String(decoding: bytes, as: UTF8.self))
    }

    /// JSON for a terminal: the same value, safe to show. A line break between its
    /// tokens becomes a space.
    static func json(_ bytes: some Collection<UInt8>) -> String {
        let oneLine = bytes.map { $0 == 0x0D || $0 == 0x0A ? UInt8(ascii: " ") : $0 }
        return text(oneLine)
    }

    /// At most `limit` characters, with a note of how much is left out.
    static func shortened(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit, text.count > limit else { return text }
        let rest = text.dropFirst(limit)
        return "\(text.prefix(limit))… (\(rest.utf8.count) bytes more)"
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09: false
        case 0..<0x20, 0x7F..<0xA0: true
        // Marks, embeddings, overrides and isolates of direction; line and paragraph separator.
        case 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
