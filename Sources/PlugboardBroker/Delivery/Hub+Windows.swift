// Throttled subscriptions: a deadline for each that was told something lately.

import PlugboardWire

extension Hub {
    /// Gives a subscription its rhythm.
    mutating func throttle(_ subscription: SubscriptionHandle, milliseconds: UInt32) {
        guard milliseconds > 0 else { return }
        makeBacklog(of: subscription)
        matching[subscription].backlog?.window = Window(milliseconds: milliseconds)
    }

    /// Notes that a throttled subscription was told of a key.
    mutating func noteWindow(of subscription: SubscriptionHandle, _ keyHash: UInt64) {
        guard let backlog = matching[subscription].backlog, let span = backlog.window?.span else {
            return
        }
        let now = clock()
        backlog.window?.note(keyHash, at: now)
        guard backlog.window?.isTicking == false else { return }
        backlog.window?.open(event: delivery.eventNumber)
        tick(subscription, backlog, at: now + span)
    }

    /// A window ends: what is owed passes. Where something was told meanwhile, another one follows, a
    /// whole span behind that.
    mutating func endWindow(of subscription: SubscriptionHandle) {
        guard let backlog = matching[subscription].backlog, let window = backlog.window
        else { return }
        backlog.window?.ticket = nil
        let end = window.lastTold + window.span
        if clock() < end {
            backlog.window?.age()
            tick(subscription, backlog, at: end)
        } else {
            backlog.window?.forget()
        }
        // What was told before the last tick may be told again, though another line came behind it.
        tellOwed(to: subscription)
    }

    /// Forgets the rhythm of a subscription that ends. Its deadline goes, so none names it any more.
    mutating func endThrottle(of subscription: SubscriptionHandle) {
        guard let window = matching[subscription].backlog?.window else { return }
        if let ticket = window.ticket { deadlines.cancel(ticket) }
    }

    private mutating func tick(
        _ subscription: SubscriptionHandle,
        _ backlog: Backlog,
        at time: UInt64
    ) {
        backlog.window?.ticket = deadlines.add(at: time, .window(subscription))
    }
}
