// An observer of an earlier phase has handled an event.

import PlugboardMemory
import PlugboardWire

/// `ack`.
enum Acknowledge {
    /// The subscription that acknowledges. `revision` is that of the bus.
    static func check(
        _ asked: AskedRequest,
        _ options: RequestOptions,
        at revision: UInt64,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable
    ) throws(Refusal) -> SubscriptionHandle {
        let subscription = try asked.subscription(of: asked.session, matching, sessions)
        guard matching[subscription].acknowledges else {
            let message = "subscription \(String(matching.sub(of: subscription))) does not acknowledge"
            let hint = "subscribe with \"ack\":true"
            throw Refusal(.conflict, message, hint: hint, at: asked.request.sub.start)
        }
        if options.revision <= revision { return subscription }
        let message = "revision \(options.revision) is still to come: the bus is at \(revision)"
        var refusal = Refusal(.conflict, message, at: options.revisionStart)
        refusal.revision = revision
        throw refusal
    }
}
