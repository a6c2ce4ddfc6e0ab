// Adds a number to a value, or to the part of it that a JSON Pointer names. A part that isn't there counts as
// 0, and so does an absent key; objects on the way to it are made. Everything else keeps its bytes and its
// place.

import PlugboardMemory

/// Adds numbers to values.
public enum NumberAddition {
    /// Where a pointer leads in a value.
    private enum Place {
        case part(ByteRange)
        /// An object that lacks the rest of the way.
        case lacking(ByteRange, [[UInt8]])
    }

    /// What is wrong with a number or a pointer by itself, whatever the value is; nil if nothing is. `offset`
    /// is the place in the line.
    static func refusal(of number: Span<UInt8>, at offset: Int) -> Refusal? {
        guard JSONOutline.kind(of: number) == .number else {
            return Refusal(.wrongType, "add takes a number", hint: "such as 1, -1 or 0.05", at: offset)
        }
        return DecimalSum(number) == nil ? tooLong(at: offset) : nil
    }

    /// The same for a pointer, spelled as a JSON string without its quotes.
    static func refusal(ofField field: Span<UInt8>, at offset: Int) -> Refusal? {
        do throws(Refusal) {
            guard try JSONPointerReader(field, at: offset).tokens().count > Limits.depthMax else {
                return nil
            }
            return Refusal(.tooDeep, "no part is more than \(Limits.depthMax) deep", at: offset)
        } catch {
            return error
        }
    }

    /// Adds the new value to `buffer`, and returns the place of the sum in it. An empty value counts as
    /// absent. Throws `conflict` where there is something but a number, and `limit` where the sum is too
    /// long.
    public static func apply(
        _ number: Span<UInt8>,
        atField field: Span<UInt8>,
        to value: Span<UInt8>,
        into buffer: inout ByteBuffer
    ) throws(Refusal) -> ByteRange {
        let tokens = try JSONPointerReader(field, at: 0).tokens()
        if value.isEmpty {
            let nothing: StaticString = tokens.isEmpty ? "0" : "{}"
            return try apply(number, tokens, to: nothing.bytes, into: &buffer)
        }
        return try apply(number, tokens, to: value, into: &buffer)
    }

    private static func apply(
        _ number: Span<UInt8>,
        _ tokens: [[UInt8]],
        to value: Span<UInt8>,
        into buffer: inout ByteBuffer
    ) throws(Refusal) -> ByteRange {
        let zero: StaticString = "0"
        switch try find(tokens, in: value) {
        case .part(let place):
            let part = place.bytes(of: value)
            guard JSONOutline.kind(of: part) == .number else {
                throw Refusal(.conflict, "there is no number to add to", hint: "it is \(name(of: part))")
            }
            buffer.append(value[..<place.start])
            let sum = try appendSum(part, number, &buffer)
            buffer.append(value[place.end...])
            return sum
        case .lacking(let object, let missing):
            let end = object.end - 1
            buffer.append(value[..<end])
            var separator: StaticString = hasMembers(object, of: value) ? "," : ""
            for token in missing {
                buffer.append(separator)
                JSONText.append(token.span, to: &buffer)
                buffer.append(":")
                separator = "{"
            }
            let sum = try appendSum(zero.bytes, number, &buffer)
            for _ in missing.dropFirst() { buffer.append("}") }
            buffer.append(value[end...])
            return sum
        }
    }

    private static func appendSum(
        _ left: Span<UInt8>,
        _ right: Span<UInt8>,
        _ buffer: inout ByteBuffer
    ) throws(Refusal) -> ByteRange {
        guard let one = DecimalSum(left), let other = DecimalSum(right), let sum = one.adding(other) else {
            throw tooLong(at: nil)
        }
        let start = buffer.count
        sum.append(to: &buffer)
        return ByteRange(start, buffer.count)
    }

    private static func find(_ tokens: [[UInt8]], in value: Span<UInt8>) throws(Refusal) -> Place {
        var place = ByteRange(0, value.count)
        for (depth, token) in tokens.enumerated() {
            let part = place.bytes(of: value)
            let kind = JSONOutline.kind(of: part)
            if let next = child(of: place, named: token, in: value) {
                place = next
            } else if kind == .object {
                return .lacking(place, Array(tokens[depth...]))
            } else {
                let hint =
                    kind == .array ? "the array has no such element" : "on the way to it is \(name(of: part))"
                throw Refusal(.conflict, "there is no such part of the value", hint: hint)
            }
        }
        return .part(place)
    }

    /// If a name occurs twice, its last member counts.
    private static func child(of place: ByteRange, named token: [UInt8], in value: Span<UInt8>) -> ByteRange?
    {
        var found: ByteRange?
        // The scanner has accepted these bytes, so no walk stops early.
        if var walk = JSONWalk(value, from: place.start, opening: "{") {
            while let (name, member) = try? walk.nextMember() {
                if JSONCharacters.areEqual(name.bytes(of: value), characters: token.span) { found = member }
            }
        } else if var walk = JSONWalk(value, from: place.start, opening: "[") {
            let wanted = JSONPointerReader.element(token)
            var element = 0
            while let part = try? walk.nextElement() {
                if element == wanted { return part }
                element += 1
            }
        }
        return found
    }

    private static func hasMembers(_ object: ByteRange, of value: Span<UInt8>) -> Bool {
        guard var walk = JSONWalk(value, from: object.start, opening: "{") else { return false }
        return (try? walk.nextMember()) != nil
    }

    private static func name(of part: Span<UInt8>) -> String {
        switch JSONOutline.kind(of: part) {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string"
        case .number: "a number"
        case .literal: String(part)
        }
    }

    private static func tooLong(at offset: Int?) -> Refusal {
        let message = "a number that is added, and the sum, has at most \(Limits.sumDigitsMax) digits"
        return Refusal(.limit, message, hint: "counted as they are written without an exponent", at: offset)
    }
}
