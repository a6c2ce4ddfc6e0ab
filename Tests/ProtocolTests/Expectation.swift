// What a line from the broker should look like. An expected line is compared byte for byte,
// member by member in the written order, except where the sign `…` is (SPEC.md, "How the
// examples are written").

import TestSupport

/// One expected line.
struct Expectation {
    let text: String
    private let pattern: JSONNode

    init(_ text: String) throws {
        self.text = text
        pattern = try JSONNode(text, wildcards: true)
    }

    var isGreeting: Bool { pattern["event"]?.string == "hello" }

    /// The code, if an error is expected.
    var errorCode: String? { pattern["error"]?.string }

    /// The `id` of a reply, as it is written.
    var id: String? { pattern["id"]?.text }

    var isReply: Bool { pattern["event"] == nil }

    /// Why the line isn't as expected; nil if it is.
    func mismatch(_ line: [UInt8]) -> String? {
        do {
            return Self.compare(pattern, try JSONNode(line), "")
        } catch {
            return "the line isn't JSON: \(error)"
        }
    }

    private static let sign = "…"

    private static func compare(_ expected: JSONNode, _ got: JSONNode, _ path: String) -> String? {
        if !expected.text.contains(sign) {
            return expected.bytes == got.bytes ? nil : difference(expected, got, path)
        }
        switch (expected.content, got.content) {
        case (.string(sign), _): return nil
        case (.string(let pattern), .string(let string)):
            return matches(string, pattern) ? nil : difference(expected, got, path)
        case (.array(let expected, let isOpen), .array(let got, _)):
            return compare(expected, got, isOpen, path)
        case (.object(let expected, let isOpen), .object(let got, _)):
            return compare(expected, got, isOpen, path)
        default: return difference(expected, got, path)
        }
    }

    private static func compare(
        _ expected: [JSONNode], _ got: [JSONNode], _ isOpen: Bool, _ path: String
    ) -> String? {
        guard isOpen ? got.count >= expected.count : got.count == expected.count else {
            return "\(place(path)) has \(got.count) elements, not \(expected.count)"
        }
        for (index, pair) in zip(expected, got).enumerated() {
            if let mismatch = compare(pair.0, pair.1, "\(path)[\(index)]") { return mismatch }
        }
        return nil
    }

    private static func compare(
        _ expected: [JSONNode.Member], _ got: [JSONNode.Member], _ isOpen: Bool, _ path: String
    ) -> String? {
        let names = got.map(\.name)
        guard names.starts(with: expected.map(\.name)), isOpen || names.count == expected.count else {
            return "\(place(path)) has the members \(names), not \(expected.map(\.name))"
        }
        for (expected, got) in zip(expected, got) {
            if let mismatch = compare(expected.value, got.value, "\(path).\(expected.name)") {
                return mismatch
            }
        }
        return nil
    }

    private static func difference(_ expected: JSONNode, _ got: JSONNode, _ path: String) -> String {
        "\(place(path)) is \(got.text), not \(expected.text)"
    }

    private static func place(_ path: String) -> String {
        path.isEmpty ? "the line" : path
    }

    /// Whether `string` is `pattern` with any run of characters for each `…`.
    private static func matches(_ string: String, _ pattern: String) -> Bool {
        let parts = pattern.split(separator: sign, omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last, string.hasPrefix(first) else { return false }
        var rest = string.dropFirst(first.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.count >= last.count && rest.hasSuffix(last)
    }
}
