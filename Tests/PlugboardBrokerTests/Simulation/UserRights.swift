// The policies of a simulation, one after another, and what each of them allows a user. The tests use
// their own code for that, for the few keys and patterns that there are.

import PlugboardWire

@testable import PlugboardBroker

/// What a policy allows to one user.
struct UserRights {
    /// Enough keys that any two different patterns differ for at least one of them.
    static let samples = ["k.0", "k.1", "k.2", "k.other", "other", "s.a", "s.b", "s.other", "else"]

    private var allow: [PolicyAction: [String]] = [:]
    private var deny: [PolicyAction: [String]] = [:]

    /// All rights.
    static var everything: UserRights {
        var rights = UserRights()
        for action in PolicyAction.allCases { rights.allow[action] = ["**"] }
        return rights
    }

    /// Random rights.
    init(_ chance: Chance) {
        self = .everything
        let keys = [["k.*"], ["k.0"], ["other"], ["k.1", "other"], ["k.0", "k.1"], ["**"]]
        let services = [["s.*"], ["s.a"], ["s.b"]]
        for action in [PolicyAction.subscribe, .publish, .emit] where chance.isOne(in: 3) {
            if chance.isOne(in: 3) {
                allow[action] = chance.pick(keys)
            } else {
                deny[action] = chance.pick(keys)
            }
        }
        for action in [PolicyAction.call, .serve] where chance.isOne(in: 4) {
            deny[action] = chance.pick(services)
        }
    }

    private init() {}

    func may(_ action: PolicyAction, _ key: String) -> Bool {
        allow[action, default: []].contains { Self.matches($0, key) }
            && !deny[action, default: []].contains { Self.matches($0, key) }
    }

    /// Whether it may do this with some key of a pattern.
    func maySome(_ action: PolicyAction, _ pattern: String) -> Bool {
        Self.samples.contains { Self.matches(pattern, $0) && may(action, $0) }
    }

    /// Whether it may do this with every key of a pattern.
    func mayAll(_ action: PolicyAction, _ pattern: String) -> Bool {
        Self.samples.allSatisfy { !Self.matches(pattern, $0) || may(action, $0) }
    }

    /// Whether it may make a request.
    func permit(_ wish: Wish) -> Bool {
        switch wish {
        case .publish(let key, _, nil), .bind(let key, _, _): may(.publish, key)
        case .publish(let key, _, _), .patch(let key, _), .delete(let key, _):
            may(.publish, key) && may(.subscribe, key)
        case .batch(let parts): parts.allSatisfy { may($0.isEvent ? .emit : .publish, $0.key) }
        case .emit(let key, _): may(.emit, key)
        case .will(let key, _, let isEvent): may(isEvent ? .emit : .publish, key)
        case .call(let key, _, _): may(.call, key)
        case .serve(let pattern): mayAll(.serve, pattern)
        case .subscribe(let plan): plan.patterns.allSatisfy { maySome(.subscribe, $0) }
        default: true
        }
    }

    static func matches(_ pattern: String, _ key: String) -> Bool {
        SubscriptionPlan(sub: "", patterns: [pattern]).matches(key)
    }

    /// The rights as a rule of a policy file.
    func rule(for user: UInt32) -> String {
        #"{"user":\#(user),"allow":\#(Self.text(allow)),"deny":\#(Self.text(deny))}"#
    }

    private static func text(_ lists: [PolicyAction: [String]]) -> String {
        let members = PolicyAction.allCases.compactMap { action in
            lists[action].map { patterns in
                #""\#(action.name)":[\#(patterns.map { "\"\($0)\"" }.joined(separator: ","))]"#
            }
        }
        return "{\(members.joined(separator: ","))}"
    }
}

/// The policies that a broker follows, one after another; empty if there are none.
struct PolicySequence {
    /// For each policy, what it allows to each user. A user who is missing may not connect.
    private var stages: [[UInt32: UserRights]] = []

    init() {}

    /// The first policy is a mild one.
    init(_ users: [UInt32], _ chance: Chance) {
        for stage in 0..<(2 + chance.below(4)) {
            var rights: [UInt32: UserRights] = [:]
            for user in users {
                if stage == 0, chance.isOne(in: 2) {
                    rights[user] = .everything
                } else if stage == 0 || !chance.isOne(in: 10) {
                    rights[user] = UserRights(chance)
                }
            }
            stages.append(rights)
        }
    }

    var count: Int { stages.count }
    var isEmpty: Bool { stages.isEmpty }

    /// A policy as the broker reads it; the owner may do everything. Nil if the broker can't read it.
    func policy(_ stage: Int) -> Policy? {
        let rules = stages[stage].sorted { $0.key < $1.key }.map { $0.value.rule(for: $0.key) }
        let text = #"{"rules":[{"allow":{"everything":["**"]}}\#(rules.map { "," + $0 }.joined())]}"#
        return try? Policy.read(text)
    }

    /// What a user may do under one of the policies; nil if the user may not connect. Without a policy,
    /// and for the owner, that is everything.
    func rights(of user: UInt32, _ stage: Int) -> UserRights? {
        guard stages.indices.contains(stage), user >= Self.firstUser else { return .everything }
        return stages[stage][user]
    }

    /// The number of the first client's user.
    static let firstUser: UInt32 = 70_000

    /// Whether something is permitted under all policies of a range, some of them, or none.
    func verdict(_ user: UInt32, _ from: Int, _ to: Int, _ isPermitted: (UserRights) -> Bool) -> Verdict {
        let verdicts = (min(from, to)...max(from, to)).map { stage in
            rights(of: user, stage).map(isPermitted) ?? false
        }
        if verdicts.allSatisfy({ $0 }) { return .always }
        return verdicts.contains(true) ? .varies : .never
    }

    enum Verdict { case always, varies, never }
}

/// Checks that the policy was followed. No client is told of a key that the policy hid from it when the line was
/// sent. No client does what it may not do, and none is refused what it may do. If the policy changed between a
/// request and its reply, either policy may apply.
struct PolicyCheck {
    private let policies: PolicySequence
    private let log: WriteLog
    private(set) var complaints: [String] = []

    init(_ conversations: [Conversation], _ log: WriteLog, _ terms: OrderCheck.Terms) {
        policies = terms.policies
        self.log = log
        if policies.isEmpty { complaints = conversations.flatMap(Self.forbidden) }
        for conversation in conversations where !policies.isEmpty {
            for told in conversation.told { checkTold(told, conversation) }
            for asked in conversation.asked { checkDone(asked, conversation) }
        }
    }

    /// Checks that nothing is forbidden without a policy.
    private static func forbidden(_ conversation: Conversation) -> [String] {
        conversation.told.filter { $0.kind == .refused && $0.name == "forbidden" }.map {
            "forbidden by nobody: \($0.text)"
        }
    }

    private mutating func checkTold(_ told: Told, _ conversation: Conversation) {
        let action: PolicyAction
        switch (told.kind, told.name) {
        case (.event, "update"), (.event, "delete"), (.event, "leave"), (.event, "emit"), (.done, "get"):
            action = .subscribe
        case (.event, "call"): action = .serve
        default: return
        }
        let rights = policies.rights(of: conversation.user, told.policy)
        if rights?.may(action, told.key) != true {
            complaints.append(
                "\(conversation.client) may not be told that under policy \(told.policy): \(told.text)"
            )
        }
    }

    private mutating func checkDone(_ asked: Asked, _ conversation: Conversation) {
        let last = asked.reply?.policy ?? conversation.lastPolicy
        let verdict = policies.verdict(conversation.user, asked.policy, last) { $0.permit(asked.wish) }
        let isForbidden = asked.reply?.kind == .refused && asked.reply?.name == "forbidden"
        if isForbidden, verdict == .always {
            complaints.append("refused, though \(conversation.client) may: \(asked.reply?.text ?? "")")
        }
        guard verdict == .never, !isForbidden else { return }
        let isDone = asked.reply?.kind == .done
        let isWritten = asked.wish.writes.contains { write in
            write.value.map { value in log.keys[write.key]?.contains { $0.value == value } ?? false } ?? false
        }
        if isDone || isWritten {
            complaints.append(
                "done, though \(conversation.client) may not under \(asked.policy) to \(last): \(asked.wish)"
            )
        }
    }
}
