// RFC 7396 on bytes: members that the patch doesn't name keep their very bytes,
// so no number is rewritten and no name reordered. What the patch adds comes last.

/// JSON merge patches.
public enum MergePatch {
    /// Adds the result of `patch` on `target` (nil: absent) to `buffer`, without white
    /// space between members. Both are JSON that the scanner accepted.
    public static func apply(
        _ patch: UnsafeRawBufferPointer,
        to target: UnsafeRawBufferPointer?,
        into buffer: inout ByteBuffer
    ) {
        guard isObject(patch) else { return buffer.append(trimmed(patch)) }
        let changes = Members(patch)
        let existing = target.flatMap { isObject($0) ? Members($0) : nil } ?? Members()
        var separator: StaticString = "{"
        for (index, member) in existing.list.enumerated() {
            guard let change = changes.last(named: member.name) else {
                append(member, separator, &buffer)
                separator = ","
                continue
            }
            if isNull(change.value) || existing.lastIndex(named: member.name) != index { continue }
            appendName(member, separator, &buffer)
            apply(change.value, to: member.value, into: &buffer)
            separator = ","
        }
        appendAdditions(changes, existing, &separator, &buffer)
        buffer.append(
            separator.utf8CodeUnitCount == 1 && separator.utf8Start[0] == UInt8(ascii: "{") ? "{}" : "}"
        )
    }

    private static func appendAdditions(
        _ changes: Members,
        _ existing: Members,
        _ separator: inout StaticString,
        _ buffer: inout ByteBuffer
    ) {
        for (index, change) in changes.list.enumerated() {
            let isShadowed = changes.lastIndex(named: change.name) != index
            if isShadowed || isNull(change.value) || existing.lastIndex(named: change.name) != nil {
                continue
            }
            appendName(change, separator, &buffer)
            apply(change.value, to: nil, into: &buffer)
            separator = ","
        }
    }

    private static func append(_ member: Member, _ separator: StaticString, _ buffer: inout ByteBuffer) {
        appendName(member, separator, &buffer)
        buffer.append(member.value)
    }

    private static func appendName(_ member: Member, _ separator: StaticString, _ buffer: inout ByteBuffer) {
        buffer.append(separator)
        buffer.append(member.spelling)
        buffer.append(":")
    }

    private static func isObject(_ value: UnsafeRawBufferPointer) -> Bool {
        value.first { !JSONScanner.isWhitespace($0) } == UInt8(ascii: "{")
    }

    private static func isNull(_ value: UnsafeRawBufferPointer) -> Bool {
        value.first == UInt8(ascii: "n")
    }

    private static func trimmed(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var scanner = JSONScanner(value)
        scanner.skipWhitespace()
        let start = scanner.position
        try? scanner.skipValue()
        return UnsafeRawBufferPointer(rebasing: value[start..<scanner.position])
    }
}

/// A name with its value, as places in the bytes they stand in.
private struct Member {
    /// The name's characters, escapes decoded: two spellings of a name are one name.
    let name: [UInt8]
    /// The name as it is written, with its quotes.
    let spelling: UnsafeRawBufferPointer
    let value: UnsafeRawBufferPointer
}

/// The members of an object, found by name in constant time.
private struct Members {
    private(set) var list: [Member] = []
    private var places: [[UInt8]: Int] = [:]

    init() {}

    init(_ object: UnsafeRawBufferPointer) {
        var scanner = JSONScanner(object)
        // The scanner accepted these bytes before, so it does not stop early here.
        try? read(&scanner, object)
    }

    /// The member that counts where a name stands more than once: the last.
    func last(named name: [UInt8]) -> Member? {
        lastIndex(named: name).map { list[$0] }
    }

    func lastIndex(named name: [UInt8]) -> Int? {
        places[name]
    }

    private mutating func read(_ scanner: inout JSONScanner, _ bytes: UnsafeRawBufferPointer)
        throws(JSONFailure)
    {
        scanner.skipWhitespace()
        scanner.position += 1
        scanner.skipWhitespace()
        while !scanner.isAtEnd, scanner.current == UInt8(ascii: "\"") {
            let start = scanner.position
            scanner.position += 1
            let hasEscape = try scanner.skipString()
            let spelling = UnsafeRawBufferPointer(rebasing: bytes[start..<scanner.position])
            try scanner.skipColon()
            let valueStart = scanner.position
            try scanner.skipValue()
            let value = UnsafeRawBufferPointer(rebasing: bytes[valueStart..<scanner.position])
            add(Member(name: Self.name(spelling, hasEscape), spelling: spelling, value: value))
            scanner.skipWhitespace()
            scanner.position += 1
            scanner.skipWhitespace()
        }
    }

    private mutating func add(_ member: Member) {
        places[member.name] = list.count
        list.append(member)
    }

    private static func name(_ spelling: UnsafeRawBufferPointer, _ hasEscape: Bool) -> [UInt8] {
        var characters = Array(spelling[1..<(spelling.count - 1)])
        guard hasEscape else { return characters }
        let count = characters.withUnsafeMutableBytes { JSONText.decodeInPlace($0) }
        characters.removeSubrange(count...)
        return characters
    }
}
