// A policy file, and what follows from its rules.

import PlugboardMemory
import PlugboardWire

@testable import PlugboardBroker

enum PolicyFuzz {
    private static let accounts = AccountNumbers(
        user: { $0 == "me" ? 1_000 : nil }, group: { $0 == "staff" ? 50 : nil }
    )
    private static let keys = ["a", "a.b", "cart.items", "cart.cards.1", "$broker.stats", "x.y.z"]
    private static let patterns = ["**", "a.*", "cart.**", "*.b", "$broker.**"]

    static func run(_ bytes: [UInt8]) {
        guard let policy = try? PolicyReader.policy(in: bytes, accounts) else { return }
        hold((try? JSONScanner.validate(bytes.span)) != nil, "a policy that is no JSON")
        hold(policy.ruleCount <= PolicyLimits.listedMax, "too many rules")
        _ = policy.summary
        for user in [UInt32(0), 1_000, 7] {
            _ = policy.admits(user, [50], owner: 1_000)
            _ = policy.quota(of: user, owner: 1_000)
            let rules = policy.applicable(to: user, [50], name: "cart", owner: 1_000).map { policy.rules[$0] }
            check(Rights(rules), rules)
        }
    }

    private static func check(_ rights: Rights, _ rules: [PolicyRule]) {
        for action in PolicyAction.allCases {
            for key in keys { check(rights, rules, action, key) }
        }
    }

    /// What no rule allows is forbidden, and so is what a rule denies. What holds for a pattern must hold
    /// for each key that matches it.
    private static func check(_ rights: Rights, _ rules: [PolicyRule], _ action: PolicyAction, _ key: String)
    {
        let bytes = Array(key.utf8)
        let isAllowed = rules.contains { $0.allow[action].contains { matches($0, bytes) } }
        let isDenied = rules.contains { $0.deny[action].contains { matches($0, bytes) } }
        let isPermitted = rights.permit(action, bytes.span)
        hold(isPermitted == (isAllowed && !isDenied), "permitted: \(isPermitted)")
        for pattern in patterns.map({ Array($0.utf8) }) where matches(pattern, bytes) {
            if rights.permit(action, pattern.span, .all) { hold(isPermitted, "all, but not this one") }
            if !rights.permit(action, pattern.span, .some) { hold(!isPermitted, "none, but this one") }
        }
    }

    private static func matches(_ pattern: [UInt8], _ key: [UInt8]) -> Bool {
        Pattern.matches(pattern.span, key.span)
    }
}
