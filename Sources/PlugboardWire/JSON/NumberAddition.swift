// Adds a number to a value, or to the part of it that a JSON Pointer names. A part that isn't there counts as
// 0, and so does an absent key; objects on the way to it are made. Everything else keeps its bytes and its
// place.

import PlugboardMemory

/// Adds numbers to values.
public enum NumberAddition {
    static let hint = "such as 1, -1 or 0.05"

    /// What is wrong with a number or a pointer by itself, whatever the value is; nil if nothing is. `offset`
    /// is the place in the line.
    static func refusal(of number: Span<UInt8>, at offset: Int) -> Refusal? {
        guard JSONOutline.kind(of: number) == .number else {
            return Refusal(.wrongType, "add takes a number", hint: hint, at: offset)
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
    /// absent. Throws `conflict` if there is something but a number, and `limit` if the sum is too
    /// long.
    public static func apply(
        _ number: Span<UInt8>,
        atField field: Span<UInt8>,
        to value: Span<UInt8>,
        into buffer: inout ByteBuffer
    ) throws(Refusal) -> ByteRange {
        if value.isEmpty {
            let nothing: StaticString = field.isEmpty ? "0" : "{}"
            return try add(number, field, to: nothing.bytes, &buffer)
        }
        return try add(number, field, to: value, &buffer)
    }

    private static func add(
        _ number: Span<UInt8>, _ field: Span<UInt8>, to value: Span<UInt8>, _ buffer: inout ByteBuffer
    ) throws(Refusal) -> ByteRange {
        switch try PartPlace.find(field, in: value) {
        case .part(let place):
            let part = place.bytes(of: value)
            guard JSONOutline.kind(of: part) == .number else {
                let hint = "it is \(PartPlace.name(of: part))"
                throw Refusal(.conflict, "there is no number to add to", hint: hint)
            }
            buffer.append(value[..<place.start])
            let sum = try appendSum(part, number, &buffer)
            buffer.append(value[place.end...])
            return sum
        case .lacking(let object, let rest):
            let zero: StaticString = "0"
            var sum = ByteRange.none
            try PartPlace.make(field[rest...], in: object, of: value, &buffer) { buffer throws(Refusal) in
                sum = try appendSum(zero.bytes, number, &buffer)
            }
            return sum
        }
    }

    private static func appendSum(
        _ left: Span<UInt8>, _ right: Span<UInt8>, _ buffer: inout ByteBuffer
    ) throws(Refusal) -> ByteRange {
        guard let one = DecimalSum(left), let other = DecimalSum(right), let sum = one.adding(other) else {
            throw tooLong(at: nil)
        }
        let start = buffer.count
        sum.append(to: &buffer)
        return ByteRange(start, buffer.count)
    }

    private static func tooLong(at offset: Int?) -> Refusal {
        let message = "a number that is added, and the sum, has at most \(Limits.sumDigitsMax) digits"
        return Refusal(.limit, message, hint: "counted as they are written without an exponent", at: offset)
    }
}
