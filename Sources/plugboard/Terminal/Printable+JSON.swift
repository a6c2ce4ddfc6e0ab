// More forms of what is safe to show: texts of several lines, bytes, JSON.

import PlugboardPosix

extension Printable {
    /// A text of several lines, each made safe.
    static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { Printable.text(String($0)) }
            .joined(separator: "\n")
    }

    /// Bytes made safe; what is not UTF-8 becomes U+FFFD.
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
