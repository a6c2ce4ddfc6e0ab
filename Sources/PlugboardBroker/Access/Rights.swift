// What one client may do, put together from the rules that are about it. Made when it
// connects, when it takes a name and when the policy is loaded anew; clients to whom the
// same rules apply share it. Used by the loop's thread alone.

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

    /// Whether an action is permitted on every key that a pattern matching.found. One of the allowed
    /// patterns has to cover all of them.
    func permitAll(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        Self.contains(allow[action]) { Pattern.covers($0, pattern) }
            && !Self.contains(deny[action]) { Pattern.overlaps($0, pattern) }
    }

    /// Whether an action may be permitted on some key that a pattern matching.found.
    func permitSome(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        Self.contains(allow[action]) { Pattern.overlaps($0, pattern) }
            && !Self.contains(deny[action]) { Pattern.covers($0, pattern) }
    }

    /// Whether somebody with these rights might be told what `other` doesn't let it be told: of a key,
    /// or what a server is asked.
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

/// What a client is to the policy and to the supervisor. It may do what both of them allow.
final class Clearance {
    /// The groups of its process when it connected.
    let groups: [UInt32]
    /// What it is called; nil while it isn't.
    var name: String?
    /// By the policy; nil where none is followed.
    var rights: Rights?
    /// Where is counted what its user takes up; nil where no policy is followed.
    var account: UserAccount?
    /// What of it is counted as owed to this client.
    var owed = 0
    /// The plugin whose client it is.
    var plugin: SupervisedPlugin?
    /// It says how plugins are, and no policy is about it.
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

    /// Who forbids an action on a key, and what would help: words for a refusal.
    func objection(_ action: PolicyAction, _ key: Span<UInt8>) -> (who: String, hint: String) {
        guard let own = plugin?.rights, !own.permitSome(action, key) else { return Self.policyObjection }
        return (
            "the plugin.json of this plugin", "its \"\(action.listName)\" lists what is allowed"
        )
    }

    static let policyObjection = (who: "the policy", hint: "the broker's --policy says who may what")
}

extension PolicyAction {
    /// Where a `plugin.json` lists the patterns for it.
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
