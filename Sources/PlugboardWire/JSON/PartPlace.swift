// Finds the part of a value that the `field` of a write names. `NumberAddition` and `PartPatch` change what
// is there, or make what an object lacks. What else isn't there is a conflict that says where the way ends.

import PlugboardMemory

/// Where a pointer leads in a value that the scanner accepted.
enum PartPlace {
    case part(ByteRange)
    /// An object that lacks the rest of the way, which begins at an offset in the pointer.
    case lacking(object: ByteRange, rest: Int)

    /// Follows a checked pointer. Throws `conflict` where an array lacks an element, and where the way leads
    /// into something without parts.
    static func find(_ pointer: Span<UInt8>, in value: Span<UInt8>) throws(Refusal) -> PartPlace {
        var scanner = JSONScanner(value)
        scanner.skipWhitespace()
        // The scanner has accepted these bytes, so this doesn't fail.
        guard let end = try? follow(pointer, from: 0, &scanner, in: value) else {
            throw noPart(Span(), value)
        }
        guard let rest = end.rest else { return .part(end.place) }
        if end.isObject { return .lacking(object: end.place, rest: rest) }
        throw noPart(pointer[..<rest], end.place.bytes(of: value))
    }

    /// Where a way ends: at what place, and where the rest of the pointer begins if it leads no further.
    private struct End {
        let place: ByteRange
        var rest: Int?
        var isObject = false
    }

    /// Follows the rest of a pointer into the value that begins here, and moves past the value. So each byte is read once.
    private static func follow(
        _ pointer: Span<UInt8>, from rest: Int, _ scanner: inout JSONScanner, in value: Span<UInt8>
    ) throws(JSONFailure) -> End {
        let start = scanner.position
        var tokens = PointerTokens(pointer[rest...])
        guard let token = tokens.next() else {
            try scanner.skipValue()
            return End(place: ByteRange(start, scanner.position))
        }
        let after = rest + token.end
        let name = PointerTokens.withCharacters(of: token.bytes(of: pointer[rest...])) { Array($0) }
        var found: End?
        let isObject = scanner.current == UInt8(ascii: "{")
        if isObject {
            // If a name occurs twice, its last member counts.
            try scanner.readMembers { spelling, scanner throws(JSONFailure) in
                if JSONCharacters.areEqual(spelling.bytes(of: value), characters: name.span) {
                    found = try follow(pointer, from: after, &scanner, in: value)
                } else {
                    try scanner.skipValue()
                }
            }
        } else if scanner.current == UInt8(ascii: "[") {
            var left = JSONPointerReader.element(name.span)
            try scanner.readElements { scanner throws(JSONFailure) in
                if left == 0 {
                    found = try follow(pointer, from: after, &scanner, in: value)
                } else {
                    try scanner.skipValue()
                }
                left -= 1
            }
        } else {
            try scanner.skipValue()
        }
        return found ?? End(place: ByteRange(start, scanner.position), rest: rest, isObject: isObject)
    }

    /// Adds a value to `buffer` with a part that an object of it lacks: the object, the names on the way, and
    /// what `body` adds.
    static func make(
        _ names: Span<UInt8>,
        in object: ByteRange,
        of value: Span<UInt8>,
        _ buffer: inout ByteBuffer,
        _ body: (inout ByteBuffer) throws(Refusal) -> Void
    ) throws(Refusal) {
        let end = object.end - 1
        buffer.append(value[..<end])
        var separator: StaticString = hasMembers(object, of: value) ? "," : ""
        var tokens = PointerTokens(names)
        while let token = tokens.next() {
            buffer.append(separator)
            appendName(token.bytes(of: names), to: &buffer)
            separator = "{"
        }
        try body(&buffer)
        for _ in 1..<max(1, PointerTokens.count(of: names)) { buffer.append("}") }
        buffer.append(value[end...])
    }

    /// Adds the name that a token spells, and a colon.
    static func appendName(_ token: Span<UInt8>, to buffer: inout ByteBuffer) {
        PointerTokens.withCharacters(of: token) { JSONText.append($0, to: &buffer) }
        buffer.append(":")
    }

    private static func hasMembers(_ object: ByteRange, of value: Span<UInt8>) -> Bool {
        guard var walk = JSONWalk(value, from: object.start, opening: "{") else { return false }
        return (try? walk.nextMember()) != nil
    }

    // MARK: Refusals

    /// `way` is the pointer as far as it leads somewhere, and `end` what is there.
    static func noPart(_ way: Span<UInt8>, _ end: Span<UInt8>) -> Refusal {
        let place = way.isEmpty ? "the whole value is" : "at \"\(excerpt(way))\" is"
        return Refusal(.conflict, "there is no such part of the value", hint: "\(place) \(name(of: end))")
    }

    /// A few words for what a value is.
    static func name(of value: Span<UInt8>) -> String {
        switch JSONOutline.kind(of: value) {
        case .object: return "an object"
        case .array:
            let count = elementCount(of: value)
            return "an array of \(count) element\(count == 1 ? "" : "s")"
        case .string: return "a string"
        case .number: return "a number"
        case .literal: return String(value)
        }
    }

    private static func elementCount(of array: Span<UInt8>) -> Int {
        guard var walk = JSONWalk(array, opening: "[") else { return 0 }
        var count = 0
        while (try? walk.nextElement()) != nil { count += 1 }
        return count
    }
}
