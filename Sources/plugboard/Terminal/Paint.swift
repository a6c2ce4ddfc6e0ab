// Colours, if the reader is a terminal and the person hasn't declined them (NO_COLOR,
// https://no-color.org).

import PlugboardPosix

/// Adds colours to texts, or leaves them as they are.
struct Paint: Sendable {
    let isOn: Bool

    /// Colours that distinguish many names, readable on dark and on light backgrounds.
    static let wheel = [36, 33, 35, 32, 34, 31]

    /// Whether the environment allows colours.
    static var isWanted: Bool {
        let declined = SocketPath.variable("NO_COLOR").map { !$0.isEmpty } ?? false
        return !declined && SocketPath.variable("TERM") != "dumb"
    }

    func bold(_ text: String) -> String { code(1, text) }
    func dim(_ text: String) -> String { code(2, text) }
    func red(_ text: String) -> String { code(31, text) }
    func green(_ text: String) -> String { code(32, text) }
    func yellow(_ text: String) -> String { code(33, text) }
    func cyan(_ text: String) -> String { code(36, text) }

    /// The colour with this number; the colours repeat.
    func wheel(_ index: Int, _ text: String) -> String {
        code(Self.wheel[index % Self.wheel.count], text)
    }

    /// A text without the colours that this type has added.
    static func without(_ text: String) -> String {
        guard text.utf8.contains(0x1B) else { return text }
        var isCode = false
        let kept = text.utf8.filter { byte in
            if byte == 0x1B { isCode = true }
            defer { if byte == UInt8(ascii: "m") { isCode = false } }
            return !isCode
        }
        return String(decoding: kept, as: UTF8.self)
    }

    private func code(_ number: Int, _ text: String) -> String {
        isOn ? "\u{1B}[\(number)m\(text)\u{1B}[0m" : text
    }
}
