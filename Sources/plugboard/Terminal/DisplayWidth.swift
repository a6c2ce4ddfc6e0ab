// The width of a text on a terminal: one column for a character, two for East Asian characters and
// emoji, none for characters that combine with the one before.

/// The columns of texts that are safe to show.
enum DisplayWidth {
    static func of(_ text: String) -> Int {
        // The fast case: nearly every text is ASCII.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text.utf8.count }
        return text.reduce(0) { $0 + of($1) }
    }

    /// Exactly `columns` wide: a longer text is cut with `…`, a shorter one is padded.
    static func fitted(_ text: String, _ columns: Int, atEnd: Bool = false) -> String {
        let cut = shortened(text, columns)
        let space = String(repeating: " ", count: max(0, columns - of(cut)))
        return atEnd ? space + cut : cut + space
    }

    /// At most `columns` wide.
    static func shortened(_ text: String, _ columns: Int) -> String {
        guard of(text) > columns else { return text }
        guard columns > 0 else { return "" }
        var shown = ""
        var room = columns - 1
        for character in text {
            room -= of(character)
            if room < 0 { break }
            shown.append(character)
        }
        return shown + "…"
    }

    private static func of(_ character: Character) -> Int {
        character.unicodeScalars.map(of).max() ?? 0
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        if scalar.properties.isEmojiPresentation { return 2 }
        return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    /// East_Asian_Width W and F (Unicode Standard Annex 11), blocks as a whole.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
        0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x17000...0x18CFF, 0x1AFF0...0x1B16F, 0x20000...0x3FFFD,
    ]
}
