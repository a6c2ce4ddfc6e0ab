// Checks that the policy was followed. No client is told of a key that the policy hid from it when the
// line was sent. No client does what it may not do, and none is refused what it may do. If the policy
// changed between a request and its reply, either policy may apply.

import PlugboardWire

@testable import PlugboardBroker

/// Compares what was told and done with the policies.
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
