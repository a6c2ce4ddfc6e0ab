// Reads a policy from its text. As in requests, an unknown member is an error: it is probably a typing
// mistake, and in a policy it could give rights to clients that should not have them. A reader exists only
// while one text is read.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

struct AccountNumbers: Sendable {
    var user: @Sendable (String) -> UInt32?
    var group: @Sendable (String) -> UInt32?

    static let system = AccountNumbers(
        user: { Accounts.user(named: $0) }, group: { Accounts.group(named: $0) }
    )
}

struct PolicyReader: ~Copyable, ~Escapable {
    private static let ruleMembers = ["user", "group", "plugin", "allow", "deny"]
    private static let everything = "everything"

    private let json: JSONOutline
    private let source: Span<UInt8>
    private let accounts: AccountNumbers

    static func policy(in text: [UInt8], _ accounts: AccountNumbers) throws(Refusal) -> Policy {
        let reader = PolicyReader(json: try outline(of: text.span), of: text.span, accounts: accounts)
        var policy = try reader.policy()
        policy.text = text
        return policy
    }

    /// The patterns for each action that an object lists; nil if it has a mistake.
    static func patterns(in text: Span<UInt8>) -> ActionPatterns? {
        guard let json = try? outline(of: text) else { return nil }
        let reader = PolicyReader(json: json, of: text, accounts: .system)
        return try? reader.actions(0, "may")
    }

    @_lifetime(copy source)
    private init(json: consuming JSONOutline, of source: Span<UInt8>, accounts: AccountNumbers) {
        self.json = json
        self.source = source
        self.accounts = accounts
    }

    private static func outline(of text: Span<UInt8>) throws(Refusal) -> JSONOutline {
        let json = try JSONOutline(text, at: 0)
        var rest = JSONScanner(text, at: json.range(0).end)
        rest.skipWhitespace()
        guard rest.isAtEnd else {
            throw Refusal(.badJSON, "something stands behind the policy", at: rest.position)
        }
        return json
    }

    private func policy() throws(Refusal) -> Policy {
        var rules: [PolicyRule]?
        var policy = Policy(rules: [])
        for member in try members(of: 0, "the policy", known: ["rules", "quotas"]) {
            if member.name == "rules" {
                rules = try list(member).map { element throws(Refusal) in try rule(element) }
            } else {
                for element in try list(member) { try readQuota(element, &policy) }
            }
        }
        guard let rules else { throw fault("\"rules\" is missing", 0) }
        policy.rules = rules
        return policy
    }

    // MARK: Quotas

    private static let most = PolicyLimits.listedMax

    private func list(_ member: (name: String, value: Int)) throws(Refusal) -> [Int] {
        let (name, node) = member
        guard json.kind(node, of: source) == .array else {
            throw fault("\"\(name)\" is an array of \(name)", node)
        }
        return try elements(node, "there are at most \(Self.most) \(name)")
    }

    /// The elements of an array, or what stands alone. `problem` says that there are too many.
    private func elements(_ node: Int, _ problem: String) throws(Refusal) -> [Int] {
        guard json.kind(node, of: source) == .array else { return [node] }
        guard json.childCount(node) <= Self.most else { throw fault(problem, node) }
        return json.children(node, of: source)
    }

    private func readQuota(_ node: Int, _ policy: inout Policy) throws(Refusal) {
        var (quota, whose) = (Quota.others, PolicyMembers.unsaid)
        for member in try members(of: node, "a quota", known: ["user"] + Quota.names.map(\.name)) {
            guard let place = Quota.names.first(where: { $0.name == member.name })?.place else {
                whose = try users(member.value)
                continue
            }
            let digits = String(json.bytes(member.value, of: source))
            guard json.kind(member.value, of: source) == .number, let number = Int(digits), number >= 0 else {
                throw fault("\"\(member.name)\" is a whole number", member.value)
            }
            quota[keyPath: place] = number
        }
        let users: [UInt32?]
        switch whose {
        case .unsaid: throw fault("a quota names its \"user\"", node)
        case .everybody: users = [nil]
        case .numbers(let numbers): users = Array(numbers)
        }
        for user in users where policy.quotas.updateValue(quota, forKey: user) != nil {
            throw fault("there are two quotas for \(user.map { "user \($0)" } ?? "\"*\"")", node)
        }
    }

    private func rule(_ node: Int) throws(Refusal) -> PolicyRule {
        var rule = PolicyRule()
        var decides = false
        for member in try members(of: node, "a rule", known: Self.ruleMembers) {
            switch member.name {
            case "user": rule.users = try users(member.value)
            case "group": rule.groups = try numbers(member.value, "group", accounts.group)
            case "plugin": rule.plugins = try plugins(member.value)
            case "allow": rule.allow = try actions(member.value, "allow")
            default: rule.deny = try actions(member.value, "deny")
            }
            decides = decides || member.name == "allow" || member.name == "deny"
        }
        guard decides else { throw fault("the rule neither allows nor denies anything", node) }
        return rule
    }

    // MARK: Whom a rule is about

    private func users(_ node: Int) throws(Refusal) -> PolicyMembers {
        if json.kind(node, of: source) == .string, text(node) == "*" { return .everybody }
        return .numbers(try numbers(node, "user", accounts.user))
    }

    private func numbers(
        _ node: Int, _ what: String, _ number: (String) -> UInt32?
    ) throws(Refusal) -> Set<UInt32> {
        var found: Set<UInt32> = []
        for element in try oneOrMore(node, what) {
            switch json.kind(element, of: source) {
            case .number:
                let digits = String(json.bytes(element, of: source))
                guard let own = UInt32(digits), own < .max else {
                    throw fault("\(digits) is no number of a \(what)", element)
                }
                found.insert(own)
            case .string:
                let name = text(element)
                if name == "*" {
                    throw fault("\"*\" stands alone, and only for users: \"user\": \"*\"", element)
                }
                guard !name.isEmpty, !name.utf8.contains(0), let own = number(name) else {
                    throw fault("there is no \(what) \"\(name)\" on this system", element)
                }
                found.insert(own)
            default: throw fault("a \(what) is a name or a number", element)
            }
        }
        return found
    }

    private func plugins(_ node: Int) throws(Refusal) -> Set<String> {
        var names: Set<String> = []
        for element in try oneOrMore(node, "plugin") {
            guard json.kind(element, of: source) == .string else {
                throw fault("a plugin is the name that it gives itself", element)
            }
            let name = text(element)
            if let refusal = ClientName.refusal(Array(name.utf8).span, at: 0) {
                throw fault("no client is called \"\(name)\": \(refusal.message)", element)
            }
            names.insert(name)
        }
        return names
    }

    private func oneOrMore(_ node: Int, _ what: String) throws(Refusal) -> [Int] {
        let named = try elements(node, "a rule names at most \(Self.most) of a kind")
        // A reader could mistake a rule with an empty list for a rule about everybody.
        guard !named.isEmpty else { throw fault("no \(what) is named", node) }
        return named
    }

    // MARK: What it says

    private func actions(_ node: Int, _ what: String) throws(Refusal) -> ActionPatterns {
        var lists = ActionPatterns()
        let known = PolicyAction.allCases.map(\.name) + [Self.everything]
        for member in try members(of: node, "\"\(what)\"", known: known) {
            let read = try patterns(member.value, member.name)
            for action in PolicyAction.allCases where [Self.everything, action.name].contains(member.name) {
                lists[action] += read
            }
        }
        return lists
    }

    private func patterns(_ node: Int, _ what: String) throws(Refusal) -> [[UInt8]] {
        var read: [[UInt8]] = []
        for element in try elements(node, "a list has at most \(Self.most) patterns") {
            guard json.kind(element, of: source) == .string else {
                throw fault("\"\(what)\" is a pattern, or an array of them", element)
            }
            let pattern = JSONText.characters(json.characters(element, of: source))
            if let problem = Pattern.fault(pattern.span) {
                throw fault("\"\(text(element))\" is no pattern: \(problem.rawValue)", element)
            }
            read.append(pattern)
        }
        return read
    }

    // MARK: JSON

    /// The members of an object, except those whose names begin with `x-`, which may have any value.
    private func members(
        of node: Int, _ what: String, known: [String]
    ) throws(Refusal) -> [(name: String, value: Int)] {
        guard json.kind(node, of: source) == .object else { throw fault("\(what) is an object", node) }
        var members: [(name: String, value: Int)] = []
        var seen: Set<String> = []
        for name in json.children(node, of: source) {
            let member = (name: text(name), value: name + 1)
            guard seen.insert(member.name).inserted else {
                throw fault("\"\(member.name)\" stands twice", name)
            }
            if known.contains(member.name) {
                members.append(member)
            } else if !member.name.hasPrefix("x-") {
                let hint = Suggestion.hint(for: member.name, among: known)
                let all = "it may have \(known.joined(separator: ", "))"
                throw fault("\(what) has no member \"\(member.name)\"; \(hint ?? all)", name)
            }
        }
        return members
    }

    private func text(_ node: Int) -> String { json.text(node, of: source) }

    private func fault(_ message: String, _ node: Int) -> Refusal {
        Refusal(.wrongType, message, at: json.start(node))
    }
}

extension JSONOutline {
    /// The elements of an array, or the names of an object's members, each before its value.
    func children(_ node: Int, of source: Span<UInt8>) -> [Int] {
        let namesCount = kind(node, of: source) == .object ? 1 : 0
        var (found, child): ([Int], Int) = ([], node + 1)
        for _ in 0..<childCount(node) {
            found.append(child)
            child = next(child + namesCount)
        }
        return found
    }

    func text(_ node: Int, of source: Span<UInt8>) -> String {
        String(decoding: JSONText.characters(characters(node, of: source)), as: UTF8.self)
    }
}
