// The other way round of `MergePatch`: from two values the RFC 7396 patch that makes one
// into the other. There is at most one that says nothing too much, and sometimes none,
// since a merge patch can't say null, nor that something stays away from a second name.

/// Differences as JSON merge patches.
public enum MergeDifference {
    /// Adds the patch that makes `old` into `new` to `buffer`. Both are JSON that the scanner
    /// accepted, without white space round it.
    ///
    /// False, and nothing added, where the whole value is to be told instead: no merge patch
    /// says it exactly, or none that is shorter than the value. Exactly means that
    /// `MergePatch.apply` gives a value with the same members, elements, strings and spellings
    /// of numbers; the order of members isn't counted, since JSON gives it no meaning.
    /// No patch has exactly that effect where
    /// - one of the values is no object,
    /// - a member becomes null, or a new object has one that is,
    /// - a name occurs twice in an object that changed.
    public static func append(
        from old: UnsafeRawBufferPointer,
        to new: UnsafeRawBufferPointer,
        into buffer: inout ByteBuffer,
        using comparer: inout JSONComparer
    ) -> Bool {
        let areObjects = JSONOutline.kind(of: old) == .object && JSONOutline.kind(of: new) == .object
        defer { comparer.forget() }
        guard areObjects, comparer.left.read(old), comparer.right.read(new) else { return false }
        let start = buffer.count
        // The shortest value that is longer than its patch is one byte longer.
        let end = start + new.count - 1
        if comparer.appendDifference(0, 0, to: &buffer, end: end), buffer.count <= end { return true }
        buffer.truncate(to: start)
        return false
    }
}

extension JSONComparer {
    /// Adds the patch between an object of the left and one of the right outline. False, with
    /// something left over in the buffer, where there is none or it would go on past `end`.
    fileprivate mutating func appendDifference(
        _ leftObject: Int,
        _ rightObject: Int,
        to buffer: inout ByteBuffer,
        end: Int
    ) -> Bool {
        guard !pair(leftObject, rightObject).hasRepeats else { return false }
        let start = buffer.count
        var name = rightObject + 1
        for _ in 0..<right.childCount(rightObject) {
            guard appendMember(name, start, &buffer, end) else { return false }
            name = right.next(name + 1)
        }
        guard appendRemovals(leftObject, start, &buffer, end) else { return false }
        if buffer.count == start { buffer.append("{") }
        buffer.append("}")
        return true
    }

    /// Adds what the patch says of a member of the right outline, if there is anything to say.
    private mutating func appendMember(
        _ name: Int,
        _ start: Int,
        _ buffer: inout ByteBuffer,
        _ end: Int
    ) -> Bool {
        let (value, partner) = (name + 1, right.partner(name))
        let before = buffer.count
        if partner > 0 {
            if ByteSearch.areEqual(left.bytes(partner), right.bytes(value)) { return true }
            if left.kind(partner) == .object, right.kind(value) == .object {
                Self.appendName(right.bytes(name), start, &buffer)
                let inner = buffer.count
                guard appendDifference(partner, value, to: &buffer, end: end) else { return false }
                // Nothing between the braces: only the spelling differs.
                if buffer.count == inner + 2 { buffer.truncate(to: before) }
                return true
            }
            if areEqual(partner, value, .spelling) { return true }
        }
        let bytes = right.bytes(value)
        guard buffer.count + bytes.count <= end, right.canBeMerged(value) else { return false }
        Self.appendName(right.bytes(name), start, &buffer)
        buffer.append(bytes)
        return true
    }

    private func appendRemovals(
        _ leftObject: Int,
        _ start: Int,
        _ buffer: inout ByteBuffer,
        _ end: Int
    ) -> Bool {
        var name = leftObject + 1
        for _ in 0..<left.childCount(leftObject) {
            if left.partner(name) == 0 {
                guard buffer.count < end else { return false }
                Self.appendName(left.bytes(name), start, &buffer)
                buffer.append("null")
            }
            name = left.next(name + 1)
        }
        return true
    }

    private static func appendName(
        _ name: UnsafeRawBufferPointer,
        _ start: Int,
        _ buffer: inout ByteBuffer
    ) {
        buffer.append(byte: buffer.count == start ? UInt8(ascii: "{") : UInt8(ascii: ","))
        buffer.append(name)
        buffer.append(":")
    }
}

extension JSONOutline {
    /// Whether a merge patch that holds this value where there was none, or no object, leaves it
    /// as it is: it drops members that are null, and all but the last of a name.
    fileprivate mutating func canBeMerged(_ node: Int) -> Bool {
        guard kind(node) == .object else { return bytes(node).first != UInt8(ascii: "n") }
        guard lastNames(node).count == childCount(node) else { return false }
        var name = node + 1
        for _ in 0..<childCount(node) {
            guard canBeMerged(name + 1) else { return false }
            name = next(name + 1)
        }
        return true
    }
}
