// The one table of invisible characters and control characters. They can control a terminal, or make one
// text look like another (SPEC.md, section 4). Programs show them as escapes. Stored text keeps them.

/// Characters that can't be seen.
public enum InvisibleCharacters {
    /// Whether a character is a control character or can't be seen.
    public static func contains(_ scalar: Unicode.Scalar) -> Bool {
        // Most characters are ASCII.
        if scalar.value < 0x7F { return scalar.value < 0x20 }
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < scalar.value { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].contains(scalar.value)
    }

    /// In ascending order. Besides the control characters these are:
    /// - Unicode's `Default_Ignorable_Code_Point`, with the ranges that are reserved for it,
    /// - the format characters (`Cf`), except those that are drawn, such as U+0600,
    /// - the line separator and the paragraph separator,
    /// - characters that are drawn as nothing.
    static let ranges: [ClosedRange<UInt32>] = [
        0x7F...0x9F,
        // Soft hyphen, grapheme joiner, Arabic letter mark, Hangul and Khmer fillers.
        0xAD...0xAD, 0x34F...0x34F, 0x61C...0x61C, 0x115F...0x1160, 0x17B4...0x17B5, 0x180B...0x180F,
        // Zero-width spaces and joiners, marks, embeddings and isolates of direction, separators.
        0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F,
        // Braille without a dot, and a filler.
        0x2800...0x2800, 0x3164...0x3164,
        // Variation selectors, the byte-order mark, a filler, annotations.
        0xFE00...0xFE0F, 0xFEFF...0xFEFF, 0xFFA0...0xFFA0, 0xFFF0...0xFFFB,
        // Joiners of hieroglyphs, a Khitan filler, shorthand, a musical note without a head, beams.
        0x13430...0x1343F, 0x16FE4...0x16FE4, 0x1BCA0...0x1BCA3, 0x1D159...0x1D159, 0x1D173...0x1D17A,
        // Tags and further variation selectors.
        0xE0000...0xE0FFF,
    ]
}
