// Lines as buses of homes, shops and players carry them: of unequal lengths and shapes, and never two of one shape
// in a row. So a system that reads a line faster if it is like the one before shows what it is worth otherwise.

/// The keys and values of rows with real traffic. Each has the same text in each run.
enum MixedTraffic {
    /// How values are spelled.
    enum Spelling: Sendable {
        case compact
        /// As Python's `json.dumps` does: with spaces, and with escapes for all but ASCII.
        case spaced
    }

    private static let places = ["kitchen", "hall", "living-room", "attic", "bath"]
    private static let things = ["light", "thermostat", "door", "player", "washing-machine"]
    private static let titles = ["Ночь", "Björk – Jóga", "東京 \\\"live\\\"", "A\\tB", "plain"]

    /// A key, from 9 to about 40 bytes long.
    static func key(_ number: Int) -> String {
        switch number % 3 {
        case 0: "home.\(places[number % 5]).\(things[number / 5 % 5]).\(number).state"
        case 1: "shop.p\(number)"
        default: "media.\(things[number % 5]).session-\(number * 7_919 % 100_000).now"
        }
    }

    /// The value that a message with this number brings.
    static func value(_ number: Int, _ spelling: Spelling) -> [UInt8] {
        let step = number * 2_654_435_761 & 0xFFFF
        switch number % 5 {
        case 0: return Array(home(step, spelling).utf8)
        case 1: return Array(product(step, spelling).utf8)
        case 2: return Array(player(step, spelling).utf8)
        case 3: return Array("\(step % 400 / 10).\(step % 10)".utf8)
        default: return Array("\"\(["open", "closed", "unavailable", "on", "off"][step % 5])\"".utf8)
        }
    }

    /// A device's state, of which members come and go.
    private static func home(_ step: Int, _ spelling: Spelling) -> String {
        var members = [("state", step % 2 == 0 ? "\"on\"" : "\"off\"")]
        if step % 2 == 0 { members.append(("brightness", "\(step % 256)")) }
        if step % 3 == 0 { members.append(("color", list((0..<3).map { "\(step * $0 % 256)" }, spelling))) }
        if step % 5 != 0 { members.append(("temperature", "\(step % 300).5")) }
        members.append(("last_changed", "\"2026-11-27T10:\(10 + step % 50):07.\(step)+00:00\""))
        return object(members, spelling)
    }

    private static func product(_ step: Int, _ spelling: Spelling) -> String {
        let tags = (0...(step % 4)).map { "\"tag-\(step % 97 * $0)\"" }
        return object(
            [
                ("sku", "\"B0\(step)\""),
                ("title", text(titles[step % 5] + String(repeating: " x", count: step % 40), spelling)),
                ("price", "\(step % 900).95"), ("stock", step % 7 == 0 ? "null" : "\(step % 12)"),
                ("tags", list(tags, spelling)),
            ],
            spelling
        )
    }

    private static func player(_ step: Int, _ spelling: Spelling) -> String {
        let place = object([("position", "\(step)"), ("of", "\(step + 1_000)")], spelling)
        return object(
            [
                ("title", text(titles[step % 5], spelling)), ("artist", text(titles[step / 5 % 5], spelling)),
                ("path", #""C:\\Music\\\#(step % 31).flac""#), ("playing", step % 2 == 0 ? "true" : "false"),
                ("time", place),
            ],
            spelling
        )
    }

    private static func object(_ members: [(String, String)], _ spelling: Spelling) -> String {
        let colon = spelling == .spaced ? ": " : ":"
        return "{" + joined(members.map { "\"\($0)\"\(colon)\($1)" }, spelling) + "}"
    }

    private static func list(_ elements: [String], _ spelling: Spelling) -> String {
        "[" + joined(elements, spelling) + "]"
    }

    private static func joined(_ parts: [String], _ spelling: Spelling) -> String {
        parts.joined(separator: spelling == .spaced ? ", " : ",")
    }

    /// A string. `text` has its escapes already.
    private static func text(_ text: String, _ spelling: Spelling) -> String {
        guard spelling == .spaced else { return "\"\(text)\"" }
        let units = text.utf16.map { unit -> String in
            if unit < 0x80 { return String(UnicodeScalar(UInt8(unit))) }
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        return "\"" + units.joined() + "\""
    }
}
