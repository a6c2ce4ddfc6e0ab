// Checks JSON with a JSON Schema (2020-12). It knows the keywords that `schema.json` uses,
// and refuses any other, so that nothing in it stays unchecked.

import Foundation
import TestSupport

/// A schema that values can be checked with.
final class SchemaValidator {
    /// A mistake in the schema itself.
    struct BadSchema: Error, CustomStringConvertible {
        let description: String
    }

    let root: JSONNode
    /// Whether an object whose schema lists `properties` may have others if the schema doesn't
    /// say. The standard says yes. To check our own output, it is no.
    let isClosed: Bool
    private var expressions: [String: NSRegularExpression] = [:]

    init(_ root: JSONNode, isClosed: Bool = false) throws {
        self.root = root
        self.isClosed = isClosed
        try checkKeywords(root, "#")
    }

    /// What is wrong with a value by the schema that `reference` names; nil if nothing is.
    func problem(_ value: JSONNode, by reference: String = "#") throws -> String? {
        try problem(value, try resolve(reference), "$")
    }

    private typealias Keyword =
        @Sendable (SchemaValidator, JSONNode, JSONNode, JSONNode, String) throws -> String?

    /// Each takes the keyword's value, the schema around it, the value to check, and its path.
    private static let keywords: [String: Keyword] = [
        "$ref": { try $0.problem($3, try $0.resolve(try $1.mustBeString()), $4) },
        "type": { try $0.type($1, $3, $4) },
        "const": { $0.isEqual($1, $3) ? nil : "\($4) isn't \($1.text)" },
        "enum": { validator, values, _, value, path in
            let fits = values.elements?.contains { validator.isEqual($0, value) } ?? false
            return fits ? nil : "\(path) is none of \(values.text)"
        },
        "properties": { try $0.properties($1, $3, $4) },
        "required": { try $0.required($1, $3, $4) },
        "additionalProperties": { try $0.additional($1, $2, $3, $4) },
        "patternProperties": { try $0.patternProperties($1, $3, $4) },
        "propertyNames": { try $0.propertyNames($1, $3, $4) },
        "items": { try $0.items($1, $3, $4) },
        "minItems": { $0.count($3.elements?.count, atLeast: $1, $4) },
        "maxItems": { $0.count($3.elements?.count, atMost: $1, $4) },
        "minLength": { $0.count($3.string?.unicodeScalars.count, atLeast: $1, $4) },
        "maxLength": { $0.count($3.string?.unicodeScalars.count, atMost: $1, $4) },
        "minimum": { $0.bound($3, $1, $4) { $0 >= $1 } },
        "maximum": { $0.bound($3, $1, $4) { $0 <= $1 } },
        "pattern": { try $0.pattern($1, $3, $4) },
        "oneOf": { try $0.oneOf($1, $3, $4) },
        "anyOf": { try $0.anyOf($1, $3, $4) },
        "not": { try $0.problem($3, $1, $4) == nil ? "\($4) is what it must not be" : nil },
    ]

    /// Keywords that only describe.
    private static let annotations: Set = ["$schema", "$id", "$comment", "title", "description", "$defs"]

    private func problem(_ value: JSONNode, _ schema: JSONNode, _ path: String) throws -> String? {
        if case .bool(let allowed) = schema.content { return allowed ? nil : "\(path) must not be there" }
        guard let members = schema.members else { throw BadSchema(description: "no schema: \(schema.text)") }
        for member in members {
            guard let keyword = Self.keywords[member.name] else { continue }
            if let problem = try keyword(self, member.value, schema, value, path) { return problem }
        }
        let isOpen = schema["additionalProperties"] != nil || schema["properties"] == nil
        return isClosed && !isOpen ? try additional(Self.nothing, schema, value, path) : nil
    }

    private static let nothing = JSONNode(content: .bool(false), bytes: Array("false".utf8))

    private func resolve(_ reference: String) throws -> JSONNode {
        var node = root
        guard reference.hasPrefix("#") else { throw BadSchema(description: "a foreign $ref: \(reference)") }
        for part in reference.dropFirst().split(separator: "/") {
            guard let next = node[String(part)] else {
                throw BadSchema(description: "\(reference) leads nowhere")
            }
            node = next
        }
        return node
    }
}

// The keywords.
extension SchemaValidator {
    private func type(_ types: JSONNode, _ value: JSONNode, _ path: String) throws -> String? {
        let names = try types.elements?.map { try $0.mustBeString() } ?? [try types.mustBeString()]
        return names.contains { value.isOf(type: $0) } ? nil : "\(path) isn't \(types.text): \(value.text)"
    }

    private func properties(_ schemas: JSONNode, _ value: JSONNode, _ path: String) throws -> String? {
        for member in value.members ?? [] {
            guard let schema = schemas[member.name] else { continue }
            if let problem = try problem(member.value, schema, "\(path).\(member.name)") { return problem }
        }
        return nil
    }

    private func required(_ names: JSONNode, _ value: JSONNode, _ path: String) throws -> String? {
        guard let members = value.members else { return nil }
        for name in names.elements ?? [] where !members.contains(where: { $0.name == name.string }) {
            return "\(path) has no \(name.text)"
        }
        return nil
    }

    private func additional(
        _ schema: JSONNode, _ around: JSONNode, _ value: JSONNode, _ path: String
    ) throws -> String? {
        let patterns = around["patternProperties"]?.members ?? []
        for member in value.members ?? [] where around["properties"]?[member.name] == nil {
            if try patterns.contains(where: { try matches(member.name, $0.name) }) { continue }
            if let problem = try problem(member.value, schema, "\(path).\(member.name)") { return problem }
        }
        return nil
    }

    private func patternProperties(_ schemas: JSONNode, _ value: JSONNode, _ path: String) throws -> String? {
        for member in value.members ?? [] {
            for schema in schemas.members ?? [] where try matches(member.name, schema.name) {
                if let problem = try problem(member.value, schema.value, "\(path).\(member.name)") {
                    return problem
                }
            }
        }
        return nil
    }

    private func propertyNames(_ schema: JSONNode, _ value: JSONNode, _ path: String) throws -> String? {
        for member in value.members ?? [] {
            let name = JSONNode(content: .string(member.name), bytes: [])
            if let problem = try problem(name, schema, "\(path)'s name \(member.name)") { return problem }
        }
        return nil
    }

    private func items(_ schema: JSONNode, _ value: JSONNode, _ path: String) throws -> String? {
        for (index, element) in (value.elements ?? []).enumerated() {
            if let problem = try problem(element, schema, "\(path)[\(index)]") { return problem }
        }
        return nil
    }

    private func count(_ count: Int?, atLeast bound: JSONNode, _ path: String) -> String? {
        guard let count, let bound = bound.integer, count < bound else { return nil }
        return "\(path) is shorter than \(bound)"
    }

    private func count(_ count: Int?, atMost bound: JSONNode, _ path: String) -> String? {
        guard let count, let bound = bound.integer, count > bound else { return nil }
        return "\(path) is longer than \(bound)"
    }

    private func bound(
        _ value: JSONNode, _ bound: JSONNode, _ path: String, _ holds: (Double, Double) -> Bool
    ) -> String? {
        // A double distinguishes 2^53 and 2^53+1 from 2^53−1, which is what matters here.
        guard case .number = value.content, let number = Double(value.text), let limit = Double(bound.text)
        else { return nil }
        return holds(number, limit) ? nil : "\(path) is out of bounds: \(value.text)"
    }

    private func pattern(_ pattern: JSONNode, _ value: JSONNode, _ path: String) throws -> String? {
        guard let string = value.string else { return nil }
        return try matches(string, try pattern.mustBeString()) ? nil : "\(path) doesn't look as it must"
    }

    private func oneOf(_ schemas: JSONNode, _ value: JSONNode, _ path: String) throws -> String? {
        let problems = try (schemas.elements ?? []).map { try problem(value, $0, path) }
        let fitting = problems.count { $0 == nil }
        if fitting == 1 { return nil }
        return fitting > 1 ? "\(path) fits several" : "none fits: \(problems.compactMap(\.self))"
    }

    private func anyOf(_ schemas: JSONNode, _ value: JSONNode, _ path: String) throws -> String? {
        var problems: [String] = []
        for schema in schemas.elements ?? [] {
            guard let problem = try problem(value, schema, path) else { return nil }
            problems.append(problem)
        }
        return "none fits: \(problems)"
    }

    private func matches(_ string: String, _ pattern: String) throws -> Bool {
        let expression = try expressions[pattern] ?? NSRegularExpression(pattern: Self.strict(pattern))
        expressions[pattern] = expression
        let range = NSRange(string.startIndex..., in: string)
        return expression.firstMatch(in: string, range: range) != nil
    }

    /// In the schema's dialect (ECMA-262) `$` is the very end; here it is also the place before a
    /// last newline.
    private static func strict(_ pattern: String) -> String {
        pattern.hasSuffix("$") && !pattern.hasSuffix(#"\$"#) ? pattern.dropLast() + #"\z"# : pattern
    }

    /// Enough for what the schema compares: scalars, strings by meaning and numbers by text.
    private func isEqual(_ left: JSONNode, _ right: JSONNode) -> Bool {
        if let left = left.string { return left == right.string }
        return left.bytes == right.bytes
    }
}

// The schema's own form.
extension SchemaValidator {
    private func checkKeywords(_ schema: JSONNode, _ path: String) throws {
        for member in schema.members ?? [] {
            let here = "\(path)/\(member.name)"
            switch member.name {
            case "properties", "patternProperties", "$defs":
                for schema in member.value.members ?? [] {
                    try checkKeywords(schema.value, "\(here)/\(schema.name)")
                }
            case "additionalProperties", "propertyNames", "items", "not":
                try checkKeywords(member.value, here)
            case "oneOf", "anyOf":
                for schema in member.value.elements ?? [] { try checkKeywords(schema, here) }
            case "$ref": _ = try resolve(try member.value.mustBeString())
            default:
                let isKnown = Self.annotations.contains(member.name) || Self.keywords[member.name] != nil
                guard isKnown else { throw BadSchema(description: "unknown keyword \(here)") }
            }
        }
    }
}

extension JSONNode {
    fileprivate func mustBeString() throws -> String {
        guard let string else { throw SchemaValidator.BadSchema(description: "\(text) should be a string") }
        return string
    }

    fileprivate func isOf(type: String) -> Bool {
        switch (content, type) {
        case (.null, "null"), (.bool, "boolean"), (.number, "number"), (.string, "string"),
            (.array, "array"), (.object, "object"):
            true
        case (.number, "integer"): Double(text).map { $0 == $0.rounded() } ?? false
        default: false
        }
    }
}
