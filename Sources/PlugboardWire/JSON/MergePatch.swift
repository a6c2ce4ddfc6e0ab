// Applies a merge patch (RFC 7396) to bytes. Members that the patch doesn't name keep their bytes and
// their order. New members come last.

import PlugboardMemory

/// Applies merge patches.
public enum MergePatch {
    /// Adds the result of `patch` on `target` to `buffer`, without white space between members. An empty
    /// target counts as absent. Both must be JSON that the scanner accepted.
    public static func apply(_ patch: Span<UInt8>, to target: Span<UInt8>, into buffer: inout ByteBuffer) {
        guard isObject(patch) else { return buffer.append(trimmed(patch)) }
        let changes = Members(patch)
        let existing = isObject(target) ? Members(target) : Members()
        var separator: StaticString = "{"
        for (index, member) in existing.list.enumerated() {
            guard let change = changes.last(named: member.name) else {
                appendName(member, of: target, separator, &buffer)
                buffer.append(member.value.bytes(of: target))
                separator = ","
                continue
            }
            let value = change.value.bytes(of: patch)
            if isNull(value) || existing.lastIndex(named: member.name) != index { continue }
            appendName(member, of: target, separator, &buffer)
            apply(value, to: member.value.bytes(of: target), into: &buffer)
            separator = ","
        }
        appendAdditions(changes, of: patch, existing, &separator, &buffer)
        buffer.append(separator.bytes.first == UInt8(ascii: "{") ? "{}" : "}")
    }

    private static func appendAdditions(
        _ changes: Members,
        of patch: Span<UInt8>,
        _ existing: Members,
        _ separator: inout StaticString,
        _ buffer: inout ByteBuffer
    ) {
        for (index, change) in changes.list.enumerated() {
            let isShadowed = changes.lastIndex(named: change.name) != index
            let value = change.value.bytes(of: patch)
            if isShadowed || isNull(value) || existing.lastIndex(named: change.name) != nil {
                continue
            }
            appendName(change, of: patch, separator, &buffer)
            apply(value, to: Span(), into: &buffer)
            separator = ","
        }
    }

    private static func appendName(
        _ member: Member, of object: Span<UInt8>, _ separator: StaticString, _ buffer: inout ByteBuffer
    ) {
        buffer.append(separator)
        buffer.append(member.spelling.bytes(of: object))
        buffer.append(":")
    }

    private static func isObject(_ value: Span<UInt8>) -> Bool {
        var scanner = JSONScanner(value)
        scanner.skipWhitespace()
        return scanner.current == UInt8(ascii: "{")
    }

    static func isNull(_ value: Span<UInt8>) -> Bool {
        value.first == UInt8(ascii: "n")
    }

    @_lifetime(copy value)
    private static func trimmed(_ value: Span<UInt8>) -> Span<UInt8> {
        let place = (try? JSONScanner.validate(value)) ?? .none
        return place.bytes(of: value)
    }
}

/// A name and its value, as places in the object's bytes.
private struct Member {
    /// The name with its escapes decoded. Two spellings of a name are one name.
    let name: [UInt8]
    /// The name as written, with its quotes.
    let spelling: ByteRange
    let value: ByteRange
}

/// The members of an object, found by name in constant time.
private struct Members {
    private(set) var list: [Member] = []
    private var places: [[UInt8]: Int] = [:]

    init() {}

    init(_ object: Span<UInt8>) {
        // The scanner has accepted these bytes, so this doesn't stop early.
        guard var walk = JSONWalk(object, opening: "{") else { return }
        while let (name, value) = try? walk.nextMember() {
            let spelling = ByteRange(name.start - 1, name.end + 1)
            add(Member(name: Self.characters(name.bytes(of: object)), spelling: spelling, value: value))
        }
    }

    /// The last member with this name. It is the one that counts.
    func last(named name: [UInt8]) -> Member? {
        lastIndex(named: name).map { list[$0] }
    }

    func lastIndex(named name: [UInt8]) -> Int? {
        places[name]
    }

    private mutating func add(_ member: Member) {
        places[member.name] = list.count
        list.append(member)
    }

    private static func characters(_ spelling: Span<UInt8>) -> [UInt8] {
        spelling.contains(UInt8(ascii: "\\")) ? JSONText.characters(spelling) : Array(spelling)
    }
}
