// A policy file, and what follows from its rules.

import PlugboardWire

@testable import PlugboardBroker

enum PolicyFuzz {
    private static let accounts = AccountNumbers(
        user: { $0 == "me" ? 1_000 : nil },
        group: { $0 == "staff" ? 50 : nil }
    )
    private static let keys = ["a", "a.b", "cart.items", "cart.cards.1", "$broker.stats", "x.y.z"]
    private static let patterns = ["**", "a.*", "cart.**", "*.b", "$broker.**"]

    static func run(_ bytes: UnsafeRawBufferPointer) {
        guard let policy = try? PolicyReader.policy(in: Array(bytes), accounts) else { return }
        hold((try? JSONScanner.validate(bytes)) != nil, "a policy that is no JSON")
        hold(policy.ruleCount <= PolicyLimits.rulesMax, "too many rules")
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

    /// What none allows is forbidden, and what one denies; what holds for all holds for each.
    private static func check(_ rights: Rights, _ rules: [PolicyRule], _ action: PolicyAction, _ key: String)
    {
        var key = key
        key.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            let isAllowed = rules.contains { $0.allow[action].contains { matches($0, bytes) } }
            let isDenied = rules.contains { $0.deny[action].contains { matches($0, bytes) } }
            let isPermitted = rights.permit(action, bytes)
            hold(isPermitted == (isAllowed && !isDenied), "permitted: \(isPermitted)")
            for pattern in patterns.map({ Array($0.utf8) }) where matches(pattern, bytes) {
                pattern.withUnsafeBytes {
                    if rights.permitAll(action, $0) { hold(isPermitted, "all, but not this one") }
                    if !rights.permitSome(action, $0) { hold(!isPermitted, "none, but this one") }
                }
            }
        }
    }

    private static func matches(_ pattern: [UInt8], _ key: UnsafeRawBufferPointer) -> Bool {
        pattern.withUnsafeBytes { Pattern.matches($0, key) }
    }
}
