// Applies a merge patch (RFC 7396) to bytes. Members that the patch doesn't name keep their bytes and
// their order. New members come last. The patch and its target are each read once, however deep they are
// nested and however many members they have: others wait meanwhile.

import PlugboardMemory

/// Applies merge patches.
public enum MergePatch {
    /// Adds the result of `patch` on `target` to `buffer`, without white space between members. An empty
    /// target counts as absent. Both must be JSON that the scanner accepted.
    public static func apply(_ patch: Span<UInt8>, to target: Span<UInt8>, into buffer: inout ByteBuffer) {
        var scanner = JSONScanner(patch)
        scanner.skipWhitespace()
        // What is no object takes the value's place.
        guard let changes = try? Changes(&scanner, of: patch) else {
            let place = (try? JSONScanner.validate(patch)) ?? .none
            return buffer.append(place.bytes(of: patch))
        }
        var other = JSONScanner(target)
        other.skipWhitespace()
        let existing = try? Existing(&other, of: target, changes, patch)
        append(changes, of: patch, to: existing, of: target, &buffer)
    }

    private static func append(
        _ changes: Changes, of patch: Span<UInt8>, to existing: Existing?, of target: Span<UInt8>,
        _ buffer: inout ByteBuffer
    ) {
        var isFirst = true
        func begin(_ name: ByteRange, _ object: Span<UInt8>, _ buffer: inout ByteBuffer) {
            buffer.append(isFirst ? "{" : ",")
            isFirst = false
            // As it is written, with its quotes.
            buffer.append(object[(name.start - 1)..<(name.end + 1)])
            buffer.append(":")
        }
        func appendValue(of change: Changes.Member, _ inner: Existing?, _ buffer: inout ByteBuffer) {
            guard let changes = change.inner else { return buffer.append(change.value.bytes(of: patch)) }
            append(changes, of: patch, to: inner, of: target, &buffer)
        }
        for (index, member) in (existing?.members ?? []).enumerated() {
            guard let place = member.change else {
                begin(member.name, target, &buffer)
                buffer.append(member.value.bytes(of: target))
                continue
            }
            let change = changes.members[place]
            if isNull(change.value.bytes(of: patch)) || existing?.last[place] != index { continue }
            begin(member.name, target, &buffer)
            appendValue(of: change, member.inner, &buffer)
        }
        for (index, change) in changes.members.enumerated() {
            let isShadowed = changes.last(named: change.name.bytes(of: patch), in: patch) != index
            let isThere = existing?.last[index] != nil
            if isShadowed || isThere || isNull(change.value.bytes(of: patch)) { continue }
            begin(change.name, patch, &buffer)
            appendValue(of: change, nil, &buffer)
        }
        buffer.append(isFirst ? "{}" : "}")
    }

    static func isNull(_ value: Span<UInt8>) -> Bool {
        value.first == UInt8(ascii: "n")
    }
}

/// The members of an object in a patch, found by name in constant time. Two spellings of a name are one name.
private final class Changes {
    struct Member {
        /// The name as spelled, without its quotes.
        let name: ByteRange
        let value: ByteRange
        /// The members of the value, if that is an object.
        let inner: Changes?
        /// The member before this one whose name has the same hash.
        var before: Int?
    }

    private(set) var members: [Member] = []
    /// The last member with each hash. Few members are compared one by one.
    private var places: [UInt32: Int] = [:]
    private static let fewMax = 8

    /// Reads the object that begins here, and moves past it. Throws if none does.
    init(_ scanner: inout JSONScanner, of patch: Span<UInt8>) throws(JSONFailure) {
        try scanner.readMembers { name, scanner throws(JSONFailure) in
            let start = scanner.position
            let inner =
                scanner.current == UInt8(ascii: "{") ? try Changes(&scanner, of: patch) : nil
            if inner == nil { try scanner.skipValue() }
            members.append(Member(name: name, value: ByteRange(start, scanner.position), inner: inner))
        }
        guard members.count > Self.fewMax else { return }
        for index in members.indices {
            let hash = JSONCharacters.hash(members[index].name.bytes(of: patch))
            members[index].before = places.updateValue(index, forKey: hash)
        }
    }

    /// The last member with this name. It is the one that counts.
    func last(named name: Span<UInt8>, in patch: Span<UInt8>) -> Int? {
        let isFew = members.count <= Self.fewMax
        var next = isFew ? members.count - 1 : places[JSONCharacters.hash(name)]
        while let index = next, index >= 0 {
            if JSONCharacters.areEqual(members[index].name.bytes(of: patch), name) { return index }
            next = isFew ? index - 1 : members[index].before
        }
        return nil
    }
}

/// The members of an object that a patch changes.
private final class Existing {
    struct Member {
        let name: ByteRange
        let value: ByteRange
        /// What changes it, if anything does.
        let change: Int?
        /// The members of the value, if it and the change are objects.
        let inner: Existing?
    }

    private(set) var members: [Member] = []
    /// The last member with the name of a change, for those that are there. A value may have very many objects of one
    /// name, and a patch of very many members for them.
    private(set) var last: [Int: Int] = [:]

    /// Reads the object that begins here, and moves past it. Throws if none does.
    init(
        _ scanner: inout JSONScanner, of target: Span<UInt8>, _ changes: Changes, _ patch: Span<UInt8>
    ) throws(JSONFailure) {
        try scanner.readMembers { name, scanner throws(JSONFailure) in
            let start = scanner.position
            let change = changes.last(named: name.bytes(of: target), in: patch)
            var inner: Existing?
            if let deeper = change.flatMap({ changes.members[$0].inner }),
                scanner.current == UInt8(ascii: "{")
            {
                inner = try Existing(&scanner, of: target, deeper, patch)
            } else {
                try scanner.skipValue()
            }
            if let change { last[change] = members.count }
            let value = ByteRange(start, scanner.position)
            members.append(Member(name: name, value: value, change: change, inner: inner))
        }
    }
}
