// Makes the events of a subscription with `fields`: which of the named parts changed from one value to
// the next, and which are gone. Parts are compared by meaning, so 49.9 to 49.90 is no change.

import PlugboardMemory

extension JSONPointerSet {
    /// How many bytes of one change may be compared by meaning. Parts can contain each other, so 64 of
    /// them can be 64 times as long as the value. Beyond this limit, parts are compared byte by byte.
    static let comparedBytesMax = 8 * Limits.valueBytesMax

    /// Whether a named part of `new` differs from that of `old`, or is gone. If `old` is empty, there was
    /// no value. Both must be JSON that the scanner accepted.
    public func haveChanged(
        from old: Span<UInt8>, to new: Span<UInt8>, using comparer: inout JSONComparer
    ) -> Bool {
        withParts(of: new, .present, using: &comparer) { parts, comparer in
            let (changed, gone) = changes(from: old, to: parts, &comparer)
            return changed | gone != 0
        }
    }

    /// Adds the fields of an event that say what changed. `,"fields":{…}` has each part that is new or
    /// differs. `,"gone":[…]` has the pointers that named a part of `old` but name none of `new`; it is
    /// left out if there are none. Returns false and adds nothing if nothing changed.
    public func appendChanges(
        from old: Span<UInt8>,
        to new: Span<UInt8>,
        into buffer: inout ByteBuffer,
        using comparer: inout JSONComparer
    ) -> Bool {
        withParts(of: new, .present, using: &comparer) { parts, comparer in
            let (changed, gone) = changes(from: old, to: parts, &comparer)
            guard changed | gone != 0 else { return false }
            appendFields(changed, parts, &buffer)
            if gone != 0 { appendGone(gone, &buffer) }
            return true
        }
    }

    /// The same if it is known where the parts are in both values, and both have the same ones.
    public func appendChanges(
        from old: Span<UInt8>,
        to new: Span<UInt8>,
        at places: borrowing KnownPlaces,
        into buffer: inout ByteBuffer,
        using comparer: inout JSONComparer
    ) -> Bool {
        let start = buffer.count
        let (now, before) = (places.now, places.before)
        for pointer in 0..<count where places.has(pointer) {
            let part = now[pointer].bytes(of: new)
            if !old.isEmpty, Self.areEqual(before[pointer].bytes(of: old), part, &comparer) { continue }
            buffer.append(buffer.count == start ? #","fields":{"# : ",")
            appendName(pointer, to: &buffer)
            buffer.append(part)
        }
        if buffer.count == start { return false }
        buffer.append("}")
        return true
    }

    /// Whether two parts are equal. Whole numbers have one spelling each.
    @inline(__always)
    private static func areEqual(_ old: Span<UInt8>, _ new: Span<UInt8>, _ comparer: inout JSONComparer)
        -> Bool
    {
        if old.isEqual(to: new) { return true }
        return !(DecimalOrder.isWhole(old) && DecimalOrder.isWhole(new)) && comparer.areEqual(old, new)
    }

    /// Adds the same fields for an observer that may have any earlier value: every part that exists, and
    /// every other pointer as gone.
    public func appendAll(of value: Span<UInt8>, into buffer: inout ByteBuffer) {
        withParts(of: value) { parts in
            appendFields(parts.found, parts, &buffer)
            let all = count == UInt64.bitWidth ? UInt64.max : (1 << UInt64(count)) - 1
            let gone = all & ~parts.found
            if gone != 0 { appendGone(gone, &buffer) }
        }
    }

    /// A bit for each pointer whose part changed, and one for each whose part is gone.
    private func changes(
        from old: Span<UInt8>, to parts: borrowing JSONParts, _ comparer: inout JSONComparer
    ) -> (changed: UInt64, gone: UInt64) {
        if old.isEmpty { return (parts.found, 0) }
        return withParts(of: old, .former, using: &comparer) { oldParts, comparer in
            var changed = parts.found
            var compared = 0
            for pointer in 0..<count {
                guard parts.has(pointer), oldParts.has(pointer) else { continue }
                let (part, oldPart) = (parts[pointer], oldParts[pointer])
                compared += part.count + oldPart.count
                let isSame =
                    compared <= Self.comparedBytesMax
                    ? comparer.areEqual(oldPart, part) : oldPart.isEqual(to: part)
                if isSame { changed &= ~(1 << UInt64(pointer)) }
            }
            return (changed, oldParts.found & ~parts.found)
        }
    }

    private func appendFields(_ changed: UInt64, _ parts: borrowing JSONParts, _ buffer: inout ByteBuffer) {
        buffer.append(#","fields":"#)
        var separator: StaticString = "{"
        for pointer in 0..<count where changed >> UInt64(pointer) & 1 == 1 {
            buffer.append(separator)
            appendName(pointer, to: &buffer)
            buffer.append(parts[pointer])
            separator = ","
        }
        buffer.append(changed == 0 ? "{}" : "}")
    }

    private func appendGone(_ gone: UInt64, _ buffer: inout ByteBuffer) {
        buffer.append(#","gone":"#)
        var separator: StaticString = "["
        for pointer in 0..<count where gone >> UInt64(pointer) & 1 == 1 {
            buffer.append(separator)
            appendText(pointer, to: &buffer)
            separator = ","
        }
        buffer.append("]")
    }
}
