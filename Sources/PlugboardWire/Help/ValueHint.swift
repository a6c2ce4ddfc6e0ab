// Says what to write instead of a value that isn't JSON. Most such values are texts without their quotes,
// and then the caller shows the line with quotes. But a value that begins like an object, an array, a
// string or a literal was meant as that. In quotes it would become something else.

import PlugboardMemory

/// Hints for values that people type.
public enum ValueHint {
    /// What is wrong with a value that was meant as JSON. Nil if it is JSON, or if it looks like a text
    /// without its quotes.
    public static func of(_ value: Span<UInt8>) -> String? {
        do throws(JSONFailure) {
            try JSONScanner.validate(value)
            return nil
        } catch {
            guard error.kind == .syntax, let first = value.first else { return nil }
            switch first {
            case UInt8(ascii: "{"), UInt8(ascii: "["): return inside(value, error)
            case UInt8(ascii: "\""):
                guard error.offset < value.count else { return "the string lacks its quote at the end" }
                return error.escapeHint ?? "a string ends at its quote; one inside it is written \\\""
            default: return ofLiteral(value)
            }
        }
    }

    /// Whether a value that isn't JSON looks like a text without its quotes.
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
        if let hint = failure.escapeHint { return hint }
        if failure.isInLiteral { return ofBrokenLiteral(value, place) }
        switch value[place] {
        case UInt8(ascii: "'"): return "JSON has double quotes: \"…\", not '…'"
        case UInt8(ascii: "/"): return "JSON has no comments"
        case UInt8(ascii: "}"), UInt8(ascii: "]"): return atBracket(value, failure)
        default: break
        }
        if failure.isBehindValue { return "nothing may stand behind the value" }
        if failure.wantsColon { return "a colon stands between a name and its value" }
        let word = word(value, from: place)
        if failure.wantsName {
            return word.isEmpty
                ? "each member begins with a name in quotes" : "a name is in quotes: \"\(word)\""
        }
        if failure.wantsComma {
            let isZero = value[place - 1] == UInt8(ascii: "0") && word.first?.isNumber == true
            return isZero ? "no 0 stands before a number" : "a comma stands between two members or elements"
        }
        if let literal = literal(word) { return "did you mean \(literal)?" }
        if !word.isEmpty { return "a text is in quotes: \"\(word)\"" }
        return "\(failure.reason) is missing at byte \(place) of the value"
    }

    /// The hint for a word that begins like a literal but isn't one. The failure is at the first letter
    /// that differs.
    private static func ofBrokenLiteral(_ value: Span<UInt8>, _ place: Int) -> String {
        var begin = place
        while begin > 0, (value[begin - 1] | 0x20).isLetter { begin -= 1 }
        let word = word(value, from: begin)
        if let literal = literal(word) { return "did you mean \(literal)?" }
        return "a text is in quotes: \"\(word)\""
    }

    /// The hint for a bracket that closes something unfinished, or nothing at all.
    private static func atBracket(_ value: Span<UInt8>, _ failure: JSONFailure) -> String {
        let bracket = String(UnicodeScalar(value[failure.offset]))
        var end = failure.offset
        while end > 0, JSONScanner.isWhitespace(value[end - 1]) { end -= 1 }
        switch value[..<end].last {
        case UInt8(ascii: ","): return "no comma stands before \(bracket)"
        case UInt8(ascii: ":"): return "a value is missing before \(bracket)"
        default: break
        }
        if failure.wantsColon { return "a colon and a value are missing before \(bracket)" }
        if failure.wantsDigit { return "a digit is missing before \(bracket)" }
        let (open, _) = brackets(value[..<failure.offset])
        guard let missing = open.last else { return "\(bracket) closes nothing that is open there" }
        return "\(missing) is missing before \(bracket)"
    }

    /// The hint for a text that ends inside a string or before its closing brackets.
    private static func unfinished(_ value: Span<UInt8>) -> String {
        let (open, isString) = brackets(value)
        let missing = (isString ? "\"" : "") + String(open.suffix(16).reversed())
        return "it ends too early: \(missing) is missing"
    }

    /// The brackets that are missing at the end, and whether a string is open there.
    private static func brackets(_ value: Span<UInt8>) -> ([Character], isString: Bool) {
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
        return (open, isString)
    }

    /// The literal that a word probably means: in another case, from another language, cut short, or with
    /// one letter too many.
    private static func literal(_ word: String) -> String? {
        let word = word.lowercased()
        if ["none", "nil", "undefined", "nan"].contains(word) { return "null" }
        return ["true", "false", "null"].first { literal in
            literal == word || word.utf8.count >= 3 && literal.hasPrefix(word)
                || word.hasPrefix(literal) && word.utf8.count == literal.utf8.count + 1
        }
    }

    /// The letters, digits, `_` and `-` from `place` on, at most 32.
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

extension UInt8 {
    fileprivate var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
}

extension JSONFailure {
    fileprivate var wantsName: Bool { "\(reason)" == "a name in quotes" }
    fileprivate var wantsColon: Bool { "\(reason)" == "a colon" }
    fileprivate var wantsDigit: Bool { "\(reason)" == "a digit" }
    fileprivate var wantsComma: Bool { "\(reason)".hasPrefix("a comma") }
    fileprivate var isBehindValue: Bool { "\(reason)".hasPrefix("nothing more") }
    fileprivate var isInLiteral: Bool { "\(reason)".hasPrefix("true, false") }

    /// What is wrong with an escape, or how it is written.
    fileprivate var escapeHint: String? {
        switch "\(reason)" {
        case "an escape that JSON has": #"the escapes are \" \\ \/ \b \f \n \r \t and \u; \ itself is \\"#
        case "no control character in a string": #"in a string, a line feed is \n, a tab \t"#
        case "four hexadecimal digits": #"four hexadecimal digits stand behind \u"#
        default: nil
        }
    }
}
