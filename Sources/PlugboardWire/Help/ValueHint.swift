// What to write instead of a value that isn't JSON. Mostly it is a text without its quotes, and
// the line with the quotes can be sent as it stands. What begins like an object, an array, a
// string or a literal was meant as that, and would be stored as another thing.

import PlugboardMemory

/// Hints for values that people typed.
public enum ValueHint {
    /// What is wrong with a value that was meant as JSON. Nil for one that is JSON, and for one that
    /// reads like a text without its quotes.
    public static func of(_ value: Span<UInt8>) -> String? {
        do throws(JSONFailure) {
            try JSONScanner.validate(value)
            return nil
        } catch {
            guard error.kind == .syntax, let first = value.first else { return nil }
            switch first {
            case UInt8(ascii: "{"), UInt8(ascii: "["): return inside(value, error)
            case UInt8(ascii: "\""):
                return error.offset < value.count
                    ? "a string ends at its quote; one inside it is written \\\""
                    : "the string lacks its quote at the end"
            default: return ofLiteral(value)
            }
        }
    }

    /// Whether a value that isn't JSON reads like a text without its quotes.
    public static func isText(_ value: Span<UInt8>) -> Bool {
        switch value.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""): false
        default: ofLiteral(value) == nil
        }
    }

    private static func ofLiteral(_ value: Span<UInt8>) -> String? {
        let word = word(value, from: 0)
        guard let literal = literal(word) else { return nil }
        if word.utf8.count == value.count { return "did you mean \(literal)?" }
        return literal == word.lowercased()
            ? "nothing may stand behind \(literal); a text is in quotes" : nil
    }

    private static func inside(_ value: Span<UInt8>, _ failure: JSONFailure) -> String {
        let place = failure.offset
        guard place < value.count else { return unfinished(value) }
        switch value[place] {
        case UInt8(ascii: "'"): return "JSON has double quotes: \"…\", not '…'"
        case UInt8(ascii: "/"): return "JSON has no comments"
        case UInt8(ascii: "}"), UInt8(ascii: "]"): return atBracket(value, place)
        default: break
        }
        if failure.isBehindValue { return "nothing may stand behind the value" }
        let word = word(value, from: place)
        if failure.wantsName {
            return word.isEmpty
                ? "each member begins with a name in quotes" : "a name is in quotes: \"\(word)\""
        }
        if failure.wantsComma { return "a comma stands between two members or elements" }
        if let literal = literal(word) { return "did you mean \(literal)?" }
        if !word.isEmpty { return "a text is in quotes: \"\(word)\"" }
        return "\(failure.reason) is missing at byte \(place) of the value"
    }

    /// A bracket closes what isn't finished, or what nobody opened.
    private static func atBracket(_ value: Span<UInt8>, _ place: Int) -> String {
        let bracket = String(UnicodeScalar(value[place]))
        var end = place
        while end > 0, JSONScanner.isWhitespace(value[end - 1]) { end -= 1 }
        switch value[..<end].last {
        case UInt8(ascii: ","): return "no comma stands before \(bracket)"
        case UInt8(ascii: ":"): return "a value is missing before \(bracket)"
        default: return "\(bracket) closes nothing that is open there"
        }
    }

    /// The text ends within a string, or with brackets open.
    private static func unfinished(_ value: Span<UInt8>) -> String {
        var open: [Character] = []
        var isString = false
        var isEscaped = false
        for index in value.indices {
            let byte = value[index]
            if isString {
                (isString, isEscaped) = (isEscaped || byte != UInt8(ascii: "\""), !isEscaped && byte == 0x5C)
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isString = true
            case UInt8(ascii: "{"): open.append("}")
            case UInt8(ascii: "["): open.append("]")
            case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = open.popLast()
            default: break
            }
        }
        let missing = (isString ? "\"" : "") + String(open.suffix(16).reversed())
        return "it ends too early: \(missing) is missing"
    }

    /// The literal that a word is, but for its letters' case, or that it is in other languages.
    private static func literal(_ word: String) -> String? {
        switch word.lowercased() {
        case "true": return "true"
        case "false": return "false"
        case "null", "none", "nil", "undefined", "nan": return "null"
        default: return nil
        }
    }

    /// Letters and digits, as many as a name mostly has.
    private static func word(_ value: Span<UInt8>, from place: Int) -> String {
        var end = place
        while end < min(value.count, place + 32), isOfWord(value[end]) { end += 1 }
        return String(value[place..<end])
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte | 0x20 {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
        }
    }
}

extension JSONFailure {
    fileprivate var wantsName: Bool { "\(reason)" == "a name in quotes" }
    fileprivate var wantsComma: Bool { "\(reason)".hasPrefix("a comma") }
    fileprivate var isBehindValue: Bool { "\(reason)".hasPrefix("nothing more") }
}
