// An observer of an earlier phase has handled an event.

import PlugboardMemory
import PlugboardWire

/// `ack`.
enum Acknowledge {
    /// The subscription that acknowledges.
    static func check(
        _ asked: AskedRequest,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable
    ) throws(Refusal) -> SubscriptionHandle {
        let subscription = try asked.subscription(of: asked.session, matching, sessions)
        if matching[subscription].acknowledges { return subscription }
        let message = "subscription \(String(matching.sub(of: subscription))) does not acknowledge"
        let hint = "subscribe with \"ack\":true"
        throw Refusal(.conflict, message, hint: hint, at: asked.request.sub.start)
    }
}
