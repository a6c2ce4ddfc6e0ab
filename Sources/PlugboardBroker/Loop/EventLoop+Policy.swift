// The loop's side of the policy: who connects is asked of the kernel, and a policy that was
// loaded anew is followed between two turns, so that no event is told half by one and half
// by the other.

import PlugboardPosix
import PlugboardWire

extension EventLoop {
    /// The groups of who connects, where a policy may ask for them.
    func groups(of descriptor: borrowing Descriptor) -> [UInt32] {
        hub.access.followsPolicy ? network.groups(of: descriptor) : []
    }

    /// Follows the policy that was left for it. When that is reported, nobody is told any more
    /// what the new policy doesn't let it see.
    mutating func takePolicy(from inbox: Mailbox<Policy>) {
        guard let policy = inbox.take() else { return }
        for (session, farewell) in hub.replacePolicy(policy) {
            guard let connection = connections.find(slot: hub.sessions[session].slot) else { continue }
            dismiss(connection, farewell, keepingUnread: false)
        }
        report("the policy was loaded anew: \(policy.summary)")
    }
}
