// What one client may do, put together from the rules that are about it. Made when it
// connects, when it takes a name and when the policy is loaded anew; clients to whom the
// same rules apply share it. Used by the loop's thread alone.

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
    func permit(_ action: PolicyAction, _ key: UnsafeRawBufferPointer) -> Bool {
        Self.contains(allow[action]) { Pattern.matches($0, key) }
            && !Self.contains(deny[action]) { Pattern.matches($0, key) }
    }

    /// Whether an action is permitted on every key that a pattern matches. One of the allowed
    /// patterns has to cover all of them.
    func permitAll(_ action: PolicyAction, _ pattern: UnsafeRawBufferPointer) -> Bool {
        Self.contains(allow[action]) { Pattern.covers($0, pattern) }
            && !Self.contains(deny[action]) { Pattern.overlaps($0, pattern) }
    }

    /// Whether an action may be permitted on some key that a pattern matches.
    func permitSome(_ action: PolicyAction, _ pattern: UnsafeRawBufferPointer) -> Bool {
        Self.contains(allow[action]) { Pattern.overlaps($0, pattern) }
            && !Self.contains(deny[action]) { Pattern.covers($0, pattern) }
    }

    /// Whether somebody with these rights might be told of a key that `other` doesn't show.
    func mayShowMore(than other: Rights) -> Bool {
        let isAllowed = allow[.subscribe].allSatisfy { other.allow[.subscribe].contains($0) }
        let isDenied = other.deny[.subscribe].allSatisfy { deny[.subscribe].contains($0) }
        return !isAllowed || !isDenied
    }

    private static func contains(
        _ patterns: [[UInt8]],
        where holds: (UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        patterns.contains { pattern in pattern.withUnsafeBytes(holds) }
    }
}

/// A client's clearance under a policy.
final class Clearance {
    /// The groups of its process when it connected.
    let groups: [UInt32]
    /// What it calls itself; nil while it doesn't.
    var name: String?
    var rights: Rights

    init(groups: [UInt32], rights: Rights) {
        self.groups = groups
        self.rights = rights
    }
}
