// What one client may do, from the rules that apply to it. Rights are made when a client connects, when it
// takes a name, and when a policy is loaded. `PolicyInForce` owns them, and clients to whom the same rules
// apply share them. A clearance belongs to one client. Only the loop's thread uses both.

import PlugboardMemory
import PlugboardWire

/// The rights that some rules give.
final class Rights {
    private let allow: ActionPatterns
    private let deny: ActionPatterns

    init(_ rules: some Sequence<PolicyRule>) {
        var (allow, deny) = (ActionPatterns(), ActionPatterns())
        for rule in rules {
            allow.add(rule.allow)
            deny.add(rule.deny)
        }
        (self.allow, self.deny) = (allow, deny)
    }

    /// Whether an action is permitted on a key.
    func permit(_ action: PolicyAction, _ key: Span<UInt8>) -> Bool {
        Self.contains(allow[action]) { Pattern.matches($0, key) }
            && !Self.contains(deny[action]) { Pattern.matches($0, key) }
    }

    /// Whether an action is permitted on every key that a pattern matches. One allowed pattern has to cover
    /// all of these keys.
    func permitAll(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        Self.contains(allow[action]) { Pattern.covers($0, pattern) }
            && !Self.contains(deny[action]) { Pattern.overlaps($0, pattern) }
    }

    /// Whether an action may be permitted on some key that a pattern matches.
    func permitSome(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        Self.contains(allow[action]) { Pattern.overlaps($0, pattern) }
            && !Self.contains(deny[action]) { Pattern.covers($0, pattern) }
    }

    /// Whether these rights may show something that `other` hides: a key, or a call to a server. True also if
    /// they only differ in form.
    func mayShowMore(than other: Rights) -> Bool {
        mayMore(.subscribe, than: other) || mayMore(.serve, than: other)
    }

    private func mayMore(_ action: PolicyAction, than other: Rights) -> Bool {
        let isAllowed = allow[action].allSatisfy { other.allow[action].contains($0) }
        let isDenied = other.deny[action].allSatisfy { deny[action].contains($0) }
        return !isAllowed || !isDenied
    }

    private static func contains(
        _ patterns: [[UInt8]],
        where holds: (Span<UInt8>) -> Bool
    ) -> Bool {
        patterns.contains { holds($0.span) }
    }
}

/// The rights of one client. It may do what both the policy and the supervisor allow.
final class Clearance {
    /// The groups of its process when it connected.
    let groups: [UInt32]
    /// The client's name; nil if it has none.
    var name: String?
    /// The rights from the policy; nil if there is no policy.
    var rights: Rights?
    /// The account of the client's user; nil if there is no policy.
    var account: UserAccount?
    /// How many bytes the account counts for this client.
    var waiting = WaitingBytes()
    /// The plugin that the client belongs to.
    var plugin: SupervisedPlugin?
    /// What was owed to its subscriptions of keys that it may not see now.
    var withheld: [SubscriptionHandle: Backlog] = [:]
    /// Whether the client is the supervisor's. It publishes the states of plugins, and no policy applies to
    /// it.
    let isSupervisor: Bool

    init(groups: [UInt32], rights: Rights?, isSupervisor: Bool = false) {
        self.groups = groups
        self.rights = rights
        self.isSupervisor = isSupervisor
    }

    func permit(_ action: PolicyAction, _ key: Span<UInt8>) -> Bool {
        rights?.permit(action, key) ?? true && plugin?.rights?.permit(action, key) ?? true
    }

    func permitAll(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        rights?.permitAll(action, pattern) ?? true && plugin?.rights?.permitAll(action, pattern) ?? true
    }

    func permitSome(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        rights?.permitSome(action, pattern) ?? true && plugin?.rights?.permitSome(action, pattern) ?? true
    }

    /// Withholds a key that a subscription was owed. Its reference to the key goes on.
    func withhold(_ owed: OwedKey, from subscription: SubscriptionHandle) {
        let backlog = withheld[subscription] ?? Backlog()
        withheld[subscription] = backlog
        backlog.keys.append(owed)
    }

    /// The text of a refusal: what forbids an action on a key, and a hint.
    func objection(_ action: PolicyAction, _ key: Span<UInt8>) -> (who: String, hint: String) {
        guard let own = plugin?.rights, !own.permitSome(action, key) else { return Self.policyObjection }
        return (
            "the plugin.json of this plugin", "its \"\(action.listName)\" lists what is allowed"
        )
    }

    static let policyObjection = (who: "the policy", hint: "the broker's --policy says who may what")
}

extension PolicyAction {
    /// The field of a `plugin.json` that lists the patterns for an action.
    var listName: String {
        switch self {
        case .subscribe: "subscribes"
        case .publish, .emit: "publishes"
        case .call: "calls"
        case .serve: "serves"
        case .control: "controls"
        }
    }
}
