// Makes more kinds of text safe to show: texts of several lines, bytes, JSON.

import PlugboardWire

extension Printable {
    /// A text of several lines, each made safe.
    static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { Printable.text(String($0)) }
            .joined(separator: "\n")
    }

    /// A text of this program, of one line or several. Its colours and line feeds stay. Any other
    /// text in it that wasn't made safe before is made safe here.
    static func painted(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: needsEscape) else { return text }
        var shown = ""
        var rest = text.unicodeScalars[...]
        while let scalar = rest.first {
            if let colour = colour(at: rest) {
                shown.unicodeScalars.append(contentsOf: colour)
                rest = rest[colour.endIndex...]
                continue
            }
            if scalar == "\n" || !needsEscape(scalar) {
                shown.unicodeScalars.append(scalar)
            } else {
                shown += escape(scalar)
            }
            rest = rest.dropFirst()
        }
        return shown
    }

    /// A sequence such as `ESC [ 31 m`, as `Paint` writes it.
    private static func colour(at text: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView? {
        guard text.starts(with: "\u{1B}[".unicodeScalars) else { return nil }
        let digits = text.dropFirst(2).prefix { ("0"..."9").contains($0) }
        guard digits.count <= 2, digits.endIndex < text.endIndex, text[digits.endIndex] == "m" else {
            return nil
        }
        return text[...digits.endIndex]
    }

    /// Bytes made safe. Bytes that are not UTF-8 become U+FFFD.
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
}
