// The reverse of `MergePatch`: makes the merge patch (RFC 7396) that turns one value into another. There
// is at most one patch without anything superfluous. For some changes there is none, because a merge
// patch can't set null and can't keep two members with the same name.

import PlugboardMemory

/// Makes merge patches.
public enum MergeDifference {
    /// The most names and values in a value of which a patch is made.
    public static let nodesMax = 65_536

    /// Adds the patch that turns `old` into `new` to `buffer`. Both must be JSON that the scanner
    /// accepted, without white space around it.
    ///
    /// Returns false and adds nothing if no patch is exact, or if the patch isn't shorter than `new`.
    /// Then send the whole value. A patch is exact if `MergePatch.apply` gives a value with the same
    /// members, elements, strings and spellings of numbers. The order of members doesn't count, because
    /// it has no meaning in JSON.
    ///
    /// No patch is exact if
    /// - one of the values is not an object,
    /// - a member becomes null, or a new object has a member that is null,
    /// - a name occurs twice in an object of which more than the spelling changed,
    /// - one of the values has more than `nodesMax` names and values in it: finding the patch would take long.
    public static func append(
        from old: Span<UInt8>,
        to new: Span<UInt8>,
        into buffer: inout ByteBuffer,
        using comparer: inout JSONComparer
    ) -> Bool {
        let areObjects = JSONOutline.kind(of: old) == .object && JSONOutline.kind(of: new) == .object
        defer { comparer.forget() }
        guard areObjects, comparer.left.read(old, nodesMax: nodesMax),
            comparer.right.read(new, nodesMax: nodesMax)
        else { return false }
        let start = buffer.count
        // The patch must be at least one byte shorter than the value.
        let end = start + new.count - 1
        let texts = JSONPair(left: old, right: new)
        if comparer.appendDifference(0, 0, texts, to: &buffer, end: end), buffer.count <= end { return true }
        buffer.truncate(to: start)
        return false
    }
}

extension JSONComparer {
    /// Adds the patch between an object of the left outline and one of the right. Returns false if there
    /// is none, or if it would be too long; then the buffer may have a part of it.
    fileprivate mutating func appendDifference(
        _ leftObject: Int, _ rightObject: Int, _ texts: JSONPair, to buffer: inout ByteBuffer, end: Int
    ) -> Bool {
        let start = buffer.count
        guard !pair(leftObject, rightObject, texts).hasRepeats else {
            buffer.append("{}")
            return areMembersEqual(leftObject, rightObject, texts)
        }
        var name = rightObject + 1
        for _ in 0..<right.childCount(rightObject) {
            guard appendMember(name, texts, start, &buffer, end) else { return false }
            name = right.next(name + 1)
        }
        guard appendRemovals(leftObject, texts.left, start, &buffer, end) else { return false }
        if buffer.count == start { buffer.append("{") }
        buffer.append("}")
        return true
    }

    /// Adds what the patch has to say about a member of the right outline, perhaps nothing. Returns false
    /// if a patch can't say it.
    private mutating func appendMember(
        _ name: Int, _ texts: JSONPair, _ start: Int, _ buffer: inout ByteBuffer, _ end: Int
    ) -> Bool {
        let (value, partner) = (name + 1, right.partner(name))
        let before = buffer.count
        let bytes = right.bytes(value, of: texts.right)
        if partner > 0 {
            let former = left.bytes(partner, of: texts.left)
            if former.isEqual(to: bytes) { return true }
            if JSONOutline.kind(of: former) == .object, JSONOutline.kind(of: bytes) == .object {
                Self.appendName(right.bytes(name, of: texts.right), start, &buffer)
                let inner = buffer.count
                guard appendDifference(partner, value, texts, to: &buffer, end: end) else { return false }
                // There is nothing between the braces, so the two differ only in spelling.
                if buffer.count == inner + 2 { buffer.truncate(to: before) }
                return true
            }
            if areEqual(partner, value, texts, .members) { return true }
        }
        guard buffer.count + bytes.count <= end, canBeMerged(value, texts.right) else { return false }
        Self.appendName(right.bytes(name, of: texts.right), start, &buffer)
        buffer.append(bytes)
        return true
    }

    private func appendRemovals(
        _ leftObject: Int, _ text: Span<UInt8>, _ start: Int, _ buffer: inout ByteBuffer, _ end: Int
    ) -> Bool {
        var name = leftObject + 1
        for _ in 0..<left.childCount(leftObject) {
            if left.partner(name) == 0 {
                guard buffer.count < end else { return false }
                Self.appendName(left.bytes(name, of: text), start, &buffer)
                buffer.append("null")
            }
            name = left.next(name + 1)
        }
        return true
    }

    private static func appendName(_ name: Span<UInt8>, _ start: Int, _ buffer: inout ByteBuffer) {
        buffer.append(byte: buffer.count == start ? UInt8(ascii: "{") : UInt8(ascii: ","))
        buffer.append(name)
        buffer.append(":")
    }

    /// Whether a merge patch can set a value of the right outline exactly where there was no object. A patch
    /// drops members that are null, and all but the last of equal names.
    private mutating func canBeMerged(_ node: Int, _ text: Span<UInt8>) -> Bool {
        switch right.kind(node, of: text) {
        case .literal: return right.bytes(node, of: text).first != UInt8(ascii: "n")
        case .object: break
        default: return true
        }
        rightNames.fill(node, of: right, text)
        guard rightNames.count == right.childCount(node) else { return false }
        var name = node + 1
        for _ in 0..<right.childCount(node) {
            guard canBeMerged(name + 1, text) else { return false }
            name = right.next(name + 1)
        }
        return true
    }
}
