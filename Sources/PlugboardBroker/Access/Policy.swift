// Who may do what, as a file says it: rules, each for some clients, that allow and deny
// patterns of keys. All rules that are about a client count, whatever their order; what none
// of them allows is forbidden, and what one denies is forbidden whatever others allow.

import PlugboardPosix
import PlugboardWire

/// What a right is about.
public enum PolicyAction: String, CaseIterable, Sendable {
    /// To be told of keys, in whatever way: subscribe, get, keys, who, why, trace.
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

    /// Adds what another says.
    mutating func add(_ other: ActionPatterns) {
        for action in PolicyAction.allCases {
            let known = self[action]
            self[action] += other[action].filter { !known.contains($0) }
        }
    }
}

/// Users or groups that a rule is about.
enum PolicyMembers: Equatable, Sendable {
    /// Nobody in particular: the rule doesn't say.
    case unsaid
    /// `"*"`.
    case everybody
    case numbers(Set<UInt32>)
}

/// One rule.
struct PolicyRule: Equatable, Sendable {
    var users = PolicyMembers.unsaid
    /// Empty where the rule names no group.
    var groups: Set<UInt32> = []
    /// Names that clients give themselves; empty where the rule names none.
    var plugins: Set<String> = []
    var allow = ActionPatterns()
    var deny = ActionPatterns()

    /// Whether the rule is about clients of this user and these groups, whatever their name. One
    /// that names neither is about the broker's own user and root.
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
    /// By user.
    var quotas: [UInt32: Quota] = [:]
    /// Of users that have none there; nil: as without a policy's word.
    var quotaOfOthers: Quota?
    /// What it was read from.
    var text: [UInt8] = []

    /// How many rules there are.
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

    /// Whether a user may connect: the broker's own and root, and whom a rule is about.
    func admits(_ user: UInt32, _ groups: [UInt32], owner: UInt32) -> Bool {
        if user == owner || user == 0 { return true }
        return user != PeerIdentity.unknown.user
            && rules.contains { $0.concerns(user, groups, owner: owner) }
    }

    /// What a user may take up. The broker's own and root have a quota only by their name.
    func quota(of user: UInt32, owner: UInt32) -> Quota {
        if let quota = quotas[user] { return quota }
        return user == owner || user == 0 ? .unlimited : quotaOfOthers ?? .others
    }

    /// The places of the rules that are about a client. `name` is nil for one that gave itself none.
    func applicable(to user: UInt32, _ groups: [UInt32], name: String?, owner: UInt32) -> [Int] {
        rules.indices.filter { index in
            let rule = rules[index]
            guard rule.concerns(user, groups, owner: owner) else { return false }
            return rule.plugins.isEmpty || name.map { rule.plugins.contains($0) } ?? false
        }
    }
}

/// The bounds of a policy file.
public enum PolicyLimits {
    public static let bytesMax = 1_048_576
    public static let rulesMax = 1_024
    public static let quotasMax = 1_024
    /// Patterns in one list.
    public static let patternsMax = 1_024
    /// Users, groups or plugins that a rule names.
    public static let namesMax = 1_024
}
