// Applies a merge patch to the part of a value that a JSON Pointer names. In an object it does what a merge
// patch of the whole value would do. It does the same for the elements of an array, which such a patch can't
// name. What is outside of the object or array that has the part keeps its bytes and its place.

import PlugboardMemory

/// Applies merge patches to parts of values.
public enum PartPatch {
    /// Adds the new value to `buffer`. An empty value counts as absent. Throws `conflict` if there is no
    /// such part and none can be made.
    public static func apply(
        _ patch: Span<UInt8>, atField field: Span<UInt8>, to value: Span<UInt8>, into buffer: inout ByteBuffer
    ) throws(Refusal) {
        guard let (token, wayEnd) = PointerTokens.last(of: field) else {
            return MergePatch.apply(patch, to: value, into: &buffer)
        }
        let (nothing, way) = ("{}" as StaticString, field[..<wayEnd])
        let value = value.isEmpty ? nothing.bytes : value
        switch try PartPlace.find(way, in: value) {
        case .part(let container):
            let part = container.bytes(of: value)
            buffer.append(value[..<container.start])
            switch JSONOutline.kind(of: part) {
            case .object: change(token.bytes(of: field), of: part, by: patch, &buffer)
            case .array: try change(token.bytes(of: field), ofArray: part, at: way, by: patch, &buffer)
            default: throw PartPlace.noPart(way, part)
            }
            buffer.append(value[container.end...])
        case .lacking(let object, let rest):
            guard !MergePatch.isNull(patch) else { return buffer.append(value) }
            try PartPlace.make(field[rest...], in: object, of: value, &buffer) { buffer in
                MergePatch.apply(patch, to: Span(), into: &buffer)
            }
        }
    }

    /// What is wrong with a patch of a part, whatever the value is; nil if nothing is. `offset` is the
    /// pointer's place in the line.
    static func refusal(of patch: Span<UInt8>, atField field: Span<UInt8>, at offset: Int) -> Refusal? {
        let depth = PointerTokens.count(of: field) + JSONOutline.depth(of: patch)
        guard depth > Limits.depthMax else { return nil }
        let message = "a value is nested at most \(Limits.depthMax) deep, this one would be \(depth) deep"
        return Refusal(.tooDeep, message, at: offset)
    }

    /// A merge patch with this one name.
    private static func change(
        _ token: Span<UInt8>, of object: Span<UInt8>, by patch: Span<UInt8>, _ buffer: inout ByteBuffer
    ) {
        var whole = ByteBuffer()
        whole.append("{")
        PartPlace.appendName(token, to: &whole)
        whole.append(patch)
        whole.append("}")
        MergePatch.apply(whole.bytes, to: object, into: &buffer)
    }

    private static func change(
        _ token: Span<UInt8>,
        ofArray array: Span<UInt8>,
        at way: Span<UInt8>,
        by patch: Span<UInt8>,
        _ buffer: inout ByteBuffer
    ) throws(Refusal) {
        let element = ArrayElement(token, of: array)
        let place = element.place ?? ByteRange(array.count - 1, array.count - 1)
        if MergePatch.isNull(patch) {
            guard element.place != nil else { throw PartPlace.noPart(way, array) }
            buffer.append(array[..<element.removed.start])
            return buffer.append(array[element.removed.end...])
        }
        guard element.place != nil || element.isNext else { throw PartPlace.noPart(way, array) }
        buffer.append(array[..<place.start])
        if element.place == nil, element.count > 0 { buffer.append(",") }
        MergePatch.apply(patch, to: place.bytes(of: array), into: &buffer)
        buffer.append(array[place.end...])
    }
}

/// What a token names in an array: an element, or the place behind the last one.
private struct ArrayElement {
    /// Nil if the array has no such element.
    private(set) var place: ByteRange?
    /// What goes with the element: the comma after it, or else the one before it.
    private(set) var removed = ByteRange.none
    /// Whether the token names the place behind the last element: `-`, or their number.
    private(set) var isNext = false
    /// The number of elements.
    private(set) var count = 0

    init(_ token: Span<UInt8>, of array: Span<UInt8>) {
        let (wanted, isDash) = PointerTokens.withCharacters(of: token) { name in
            (JSONPointerReader.element(name), name.count == 1 && name[0] == UInt8(ascii: "-"))
        }
        // The scanner has accepted these bytes, so the walk doesn't stop early.
        guard var walk = JSONWalk(array, opening: "[") else { return }
        var previous: ByteRange?
        while let element = try? walk.nextElement() {
            if count == wanted {
                place = element
                removed = ByteRange(previous?.end ?? element.start, element.end)
            } else if let place, count == wanted + 1 {
                removed = ByteRange(place.start, element.start)
            }
            previous = element
            count += 1
        }
        isNext = count == wanted || isDash
    }
}
