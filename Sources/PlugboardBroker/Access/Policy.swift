// The content of a policy file: rules, each for some clients, that allow and deny patterns of keys, and
// quotas. A value that doesn't change. All rules that apply to a client count, in any order. What none of
// them allows is forbidden. What one of them denies is forbidden, even if others allow it.

import PlugboardPosix
import PlugboardWire

/// What a rule allows or denies.
public enum PolicyAction: String, CaseIterable, Sendable {
    /// To see keys, in any way: subscribe, get, keys, who, why, trace, explain.
    case subscribe
    /// To write values: publish, patch, delete, also in a batch or a will.
    case publish
    case emit
    case call
    case serve
    /// To pause, step and resume other clients' subscriptions.
    case control

    fileprivate var place: Int {
        switch self {
        case .subscribe: 0
        case .publish: 1
        case .emit: 2
        case .call: 3
        case .serve: 4
        case .control: 5
        }
    }
}

/// Patterns for each action.
struct ActionPatterns: Equatable, Sendable {
    private var lists = [[[UInt8]]](repeating: [], count: PolicyAction.allCases.count)

    subscript(action: PolicyAction) -> [[UInt8]] {
        get { lists[action.place] }
        set { lists[action.place] = newValue }
    }

    /// Adds the patterns of another one.
    mutating func add(_ other: ActionPatterns) {
        for action in PolicyAction.allCases {
            let known = self[action]
            self[action] += other[action].filter { !known.contains($0) }
        }
    }
}

/// The users that a rule or a quota names.
enum PolicyMembers: Equatable, Sendable {
    /// The rule doesn't name users.
    case unsaid
    /// `"*"`.
    case everybody
    case numbers(Set<UInt32>)
}

/// One rule.
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

/// All rules of a broker.
public struct Policy: Equatable, Sendable {
    var rules: [PolicyRule]
    /// The quotas of single users.
    var quotas: [UInt32: Quota] = [:]
    /// The quota of users without one of their own; nil if the policy has none.
    var quotaOfOthers: Quota?
    /// The text that the policy was read from.
    var text: [UInt8] = []

    /// The number of rules.
    public var ruleCount: Int { rules.count }

    /// For a person: how many rules, and whether others may connect.
    public var summary: String {
        let rules = ruleCount == 1 ? "1 rule" : "\(ruleCount) rules"
        return admitsOthers ? "\(rules), for other users as well" : "\(rules), for this user and root"
    }

    /// Whether clients of other users than the broker's own and root may connect at all.
    public var admitsOthers: Bool {
        rules.contains { $0.users != .unsaid || !$0.groups.isEmpty }
    }

    /// Whether a user may connect: the broker's own user, root, and users to whom a rule applies.
    func admits(_ user: UInt32, _ groups: [UInt32], owner: UInt32) -> Bool {
        if user == owner || user == 0 { return true }
        return user != PeerIdentity.unknown.user
            && rules.contains { $0.concerns(user, groups, owner: owner) }
    }

    /// A user's quota. The broker's own user and root have one only if the policy names them.
    func quota(of user: UInt32, owner: UInt32) -> Quota {
        if let quota = quotas[user] { return quota }
        return user == owner || user == 0 ? .unlimited : quotaOfOthers ?? .others
    }

    /// The places of the rules that apply to a client. `name` is nil if the client has none.
    func applicable(to user: UInt32, _ groups: [UInt32], name: String?, owner: UInt32) -> [Int] {
        rules.indices.filter { index in
            let rule = rules[index]
            guard rule.concerns(user, groups, owner: owner) else { return false }
            return rule.plugins.isEmpty || name.map { rule.plugins.contains($0) } ?? false
        }
    }
}

/// The limits of a policy file.
public enum PolicyLimits {
    public static let bytesMax = 1_048_576
    public static let rulesMax = 1_024
    public static let quotasMax = 1_024
    /// Patterns in one list.
    public static let patternsMax = 1_024
    /// Users, groups or plugins that a rule names.
    public static let namesMax = 1_024
}
