// A second definition of `where`, `fields`, `diff` and `values`, written differently from the broker's.
// From the value before and the value now, it says what an observer must be told. Values are strings, or
// objects of which only /n and /t matter.

import TestSupport

/// The filter of a subscription.
struct Narrowing {
    /// Conditions whose meaning is known here.
    enum Condition: String, CaseIterable {
        case small = #"{"/n":{"<":4}}"#
        case odd = #"{"/n":{"in":[1,3,5,7]}}"#
        case three = #"{"/n":{"==":3.00}}"#
        case notTwo = #"{"/n":{"!=":2}}"#
        case named = #"{"/t":{"exists":true}}"#
        case beginsWithA = #"{"/t":{"prefix":"a"}}"#
        case both = #"{"/n":{">=":2},"/t":{"!=":"b"}}"#
        case text = #"{"/n":{"exists":false}}"#

        func holds(for value: String) -> Bool {
            let parts = Parts(value)
            return switch self {
            case .small: parts.number.map { $0 < 4 } ?? false
            case .odd: parts.number.map { [1, 3, 5, 7].contains($0) } ?? false
            case .three: parts.number == 3
            case .notTwo: parts.number != 2
            case .named: parts.text["/t"] != nil
            case .beginsWithA: parts.text["/t"]?.hasPrefix(#""a"#) ?? false
            case .both: parts.number.map { $0 >= 2 } ?? false && parts.text["/t"] != #""b""#
            case .text: parts.number == nil
            }
        }
    }

    /// What a line has in place of the value.
    enum Shown: Equatable {
        case value, nothing, difference
        case parts([String])
    }

    /// The event that an observer gets.
    enum FilterResult: String {
        case nothing, update, delete, leave
    }

    var condition: Condition?
    var shown = Shown.value

    /// The filter as fields of a request.
    var fields: String {
        let condition = condition.map { #","where":\#($0.rawValue)"# } ?? ""
        return switch shown {
        case .value: condition
        case .nothing: condition + #","values":false"#
        case .difference: condition + #","diff":true"#
        case .parts(let names):
            condition + #","fields":[\#(names.map { "\"\($0)\"" }.joined(separator: ","))]"#
        }
    }

    func holds(for value: String?) -> Bool {
        guard let value else { return false }
        return condition?.holds(for: value) ?? true
    }

    /// The event for a change. Nil means no value.
    func telling(from old: String?, to new: String?) -> FilterResult {
        guard let new else { return condition == nil || holds(for: old) ? .delete : .nothing }
        guard holds(for: new) else { return holds(for: old) ? .leave : .nothing }
        guard case .parts(let names) = shown else { return .update }
        return changes(names, from: holds(for: old) ? old : nil, to: new).isNone ? .nothing : .update
    }

    /// Whether an emit with this value is sent.
    func tells(event value: String) -> Bool {
        guard holds(for: value) else { return false }
        guard case .parts(let names) = shown else { return true }
        return !changes(names, from: nil, to: value).isNone
    }

    /// How two values differ in parts.
    struct Changes: Equatable {
        var parts: [String: String]
        var gone: Set<String>

        var isNone: Bool { parts.isEmpty && gone.isEmpty }
    }

    func changes(_ names: [String], from old: String?, to new: String) -> Changes {
        let (before, after) = (Parts(old ?? "null"), Parts(new))
        var changes = Changes(parts: [:], gone: [])
        for name in names where !before.isSame(name, in: after) {
            if let part = after.text[name] { changes.parts[name] = part } else { changes.gone.insert(name) }
        }
        return changes
    }

    /// All parts of a value, for an observer that may have any earlier value.
    func all(_ names: [String], of value: String) -> Changes {
        let parts = Parts(value).text.filter { names.contains($0.key) }
        return Changes(parts: parts, gone: Set(names).subtracting(parts.keys))
    }
}

/// The parts of a value as spelled, by their pointers.
struct Parts {
    let text: [String: String]

    init(_ value: String) {
        text = Dictionary(
            uniqueKeysWithValues: JSONNode.parts(of: value).map { ("/" + $0.key, $0.value) }
        )
    }

    var number: Double? { text["/n"].flatMap(Double.init) }

    /// Whether a part has the same meaning in another value.
    func isSame(_ name: String, in other: Parts) -> Bool {
        name == "/n" ? number == other.number : text[name] == other.text[name]
    }
}

extension Narrowing {
    /// What is wrong with the content of an update; nil if nothing is. `old` is the value with which it
    /// is compared, `sent` the last value that was sent to the observer. If rights may have changed
    /// (`mayBeWhole`), it may have all parts.
    func objection(to event: Told, from old: String?, value: String, sent: String?, mayBeWhole: Bool = false)
        -> String?
    {
        switch shown {
        case .value: return event.value == value ? nil : "the value is \(value)"
        case .nothing: return event.value.isEmpty && event.patch == nil ? nil : "it asked for no values"
        case .parts(let names):
            let base = holds(for: old) ? old : nil
            let due = changes(names, from: base, to: value)
            let told = Changes(parts: event.parts ?? [:], gone: Set(event.gone))
            if mayBeWhole, told == all(names, of: value) { return nil }
            return told == due ? nil : "the parts are \(due.parts), gone \(due.gone)"
        case .difference:
            guard let patch = event.patch else { return event.value == value ? nil : "the value is \(value)" }
            guard let sent else { return "a patch of a value that it was not sent" }
            let isRight =
                patch.utf8.count < value.utf8.count
                && Self.merged(patch, into: sent) == JSONNode.parts(of: value)
            return isRight ? nil : "the patch of \(sent) does not give \(value)"
        }
    }

    /// Merges a patch of flat objects; nil for any other value.
    private static func merged(_ patch: String, into value: String) -> [String: String]? {
        guard value.hasPrefix("{") else { return nil }
        var members = JSONNode.parts(of: value)
        for (name, part) in JSONNode.parts(of: patch) { members[name] = part == "null" ? nil : part }
        return members
    }
}
