// The loop's side of the policy. It asks the kernel who connects. A new policy begins between two turns, so
// that no event is told half by one policy and half by the other.

import PlugboardPosix
import PlugboardWire

extension EventLoop {
    /// The groups of a connecting process, if there is a policy, which may name groups.
    func groups(of descriptor: borrowing Descriptor) -> [UInt32] {
        hub.access.followsPolicy ? network.groups(of: descriptor) : []
    }

    /// Follows the new policy from the inbox. When this is reported, nobody is sent anything any more that
    /// the new policy hides.
    mutating func takePolicy(from inbox: Mailbox<Policy>) {
        guard let policy = inbox.take() else { return }
        for (session, farewell) in hub.replacePolicy(policy) {
            guard let connection = connections.find(slot: hub.sessions[session].slot) else { continue }
            dismiss(connection, farewell, keepingUnread: false)
        }
        report("the policy was loaded anew: \(policy.summary)")
    }
}
