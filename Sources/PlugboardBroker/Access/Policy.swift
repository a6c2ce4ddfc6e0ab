// The content of a policy file: rules, each for some clients, that allow and deny patterns of keys, and
// quotas. A value that doesn't change. All rules that apply to a client count, in any order. What none of
// them allows is forbidden. What one of them denies is forbidden, even if others allow it.

import PlugboardPosix
import PlugboardWire

public enum PolicyAction: Int, CaseIterable, Sendable {
    /// To see keys, in any way: subscribe, get, keys, who, why, trace, explain.
    case subscribe
    /// To write values: publish, patch, delete, also in a batch or a will.
    case publish
    case emit
    case call
    case serve
    /// To pause, step and resume other clients' subscriptions.
    case control

    var name: String { "\(self)" }
}

struct ActionPatterns: Equatable, Sendable {
    private var lists = [[[UInt8]]](repeating: [], count: PolicyAction.allCases.count)

    subscript(action: PolicyAction) -> [[UInt8]] {
        get { lists[action.rawValue] }
        set { lists[action.rawValue] = newValue }
    }
}

enum PolicyMembers: Equatable, Sendable {
    case unsaid
    case everybody
    case numbers(Set<UInt32>)
}

struct PolicyRule: Equatable, Sendable {
    var users = PolicyMembers.unsaid
    /// Empty if the rule names no group.
    var groups: Set<UInt32> = []
    /// Names of clients; empty if the rule names none.
    var plugins: Set<String> = []
    var allow = ActionPatterns()
    var deny = ActionPatterns()

    /// Whether the rule applies to clients of this user and these groups, if their name fits, too. A rule
    /// without users and groups applies to the broker's own user and root.
    func concerns(_ user: UInt32, _ userGroups: [UInt32], owner: UInt32) -> Bool {
        switch users {
        case .numbers(let numbers): if !numbers.contains(user) { return false }
        case .unsaid: if groups.isEmpty { return user == owner || user == 0 }
        case .everybody: break
        }
        return groups.isEmpty || userGroups.contains { groups.contains($0) }
    }
}

public struct Policy: Equatable, Sendable {
    var rules: [PolicyRule]
    /// By users; that of users without one of their own under nil.
    var quotas: [UInt32?: Quota] = [:]
    var text: [UInt8] = []

    public var ruleCount: Int { rules.count }

    /// For a person: how many rules and quotas, and whether others may connect.
    public var summary: String {
        if rules.isEmpty { return "no rules, so nobody may do anything" }
        let rules = ruleCount == 1 ? "1 rule" : "\(ruleCount) rules"
        let who = admitsOthers ? "for other users as well" : "for this user and root"
        return ["\(rules), \(who)", quotaSummary].compactMap(\.self).joined(separator: "; ")
    }

    private var quotaSummary: String? {
        let named = quotas.count { $0.key != nil }
        let users = named == 0 ? nil : named == 1 ? "1 user" : "\(named) users"
        let whose = [users, quotas[nil].map { _ in "all others" }].compactMap(\.self)
        return whose.isEmpty ? nil : "quotas for \(whose.joined(separator: " and "))"
    }

    /// Whether clients of other users than the broker's own and root may connect at all.
    public var admitsOthers: Bool {
        rules.contains { $0.users != .unsaid || !$0.groups.isEmpty }
    }

    /// Whether a user may connect because a rule applies to it. The broker's own user and root may in any case.
    func admits(_ user: UInt32, _ groups: [UInt32], owner: UInt32) -> Bool {
        user != PeerIdentity.unknown.user && rules.contains { $0.concerns(user, groups, owner: owner) }
    }

    /// A user's quota. The broker's own user and root have one only if the policy names them.
    func quota(of user: UInt32, owner: UInt32) -> Quota {
        if let quota = quotas[user] { return quota }
        return user == owner || user == 0 ? .unlimited : quotas[nil] ?? .others
    }

    /// The places of the rules that apply to a client. `name` is nil if the client has none.
    func applicable(to user: UInt32, _ groups: [UInt32], name: String?, owner: UInt32) -> [Int] {
        rules.indices.filter { index in
            let rule = rules[index]
            return rule.concerns(user, groups, owner: owner)
                && (rule.plugins.isEmpty || name.map { rule.plugins.contains($0) } ?? false)
        }
    }
}

public enum PolicyLimits {
    public static let bytesMax = 1_048_576
    /// So many rules, quotas, patterns of a list, and names in a rule.
    public static let listedMax = 1_024
}

// Reads a policy file, and describes a mistake in it with its line and column. Don't call it on the loop's
// thread: looking up the number of a user may wait for another service.

public struct PolicyProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file, or `file:line:column`.
    public let place: String
    public let message: String

    public var description: String { "\(place): \(message)" }
}

extension PolicyProblem {
    init(_ refusal: Refusal, in text: [UInt8], of path: String) {
        let before = text.prefix(refusal.offset ?? 0)
        let line = before.count(where: { $0 == 0x0A }) + 1
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let column = String(decoding: before[start...], as: UTF8.self).count + 1
        self.init(place: "\(path):\(line):\(column)", message: refusal.message)
    }
}

extension Policy {
    /// Reads a file. Throws a `PolicyProblem` for the first mistake.
    public init(path: String) throws(PolicyProblem) {
        try self.init(of: path) { try InputFile.contents(path: path, limit: PolicyLimits.bytesMax) }
    }

    /// The policy that the broker before in this process has left to this one; nil if it left none. Messages
    /// name it by `path`. Throws a `PolicyProblem`.
    public init?(leftIn inheritance: Inheritance?, path: String) throws(PolicyProblem) {
        guard let file = inheritance?.takeFile(.policy) else { return nil }
        try self.init(of: path) { try file.contents() }
    }

    /// The policy as a file for `policy check`, or for the next broker. Throws `SystemError`.
    public func file() throws -> DataFile {
        try DataFile.unnamed(containing: text)
    }

    private init(of path: String, _ read: () throws -> [UInt8]) throws(PolicyProblem) {
        let text: [UInt8]
        do {
            text = try read()
        } catch {
            throw PolicyProblem(place: path, message: "\(error)")
        }
        do throws(Refusal) {
            self = try PolicyReader.policy(in: text, .system)
        } catch {
            throw PolicyProblem(error, in: text, of: path)
        }
    }
}
