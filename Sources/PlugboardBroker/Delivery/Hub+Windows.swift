// Throttled subscriptions: a deadline for each that was told something lately.

import PlugboardWire

extension Hub {
    /// Gives a subscription its rhythm.
    mutating func throttle(_ subscription: SubscriptionReference, milliseconds: UInt32) {
        guard milliseconds > 0 else { return }
        subscription.pointee.makeBacklog()
        subscription.pointee.backlog?.pointee.window = Window(milliseconds: milliseconds)
        windowed[subscription.pointee.serial] = subscription
    }

    /// Notes that a throttled subscription was told of a key.
    mutating func noteWindow(of subscription: SubscriptionReference, _ keyHash: UInt64) {
        guard let backlog = subscription.pointee.backlog, let span = backlog.pointee.window?.span else {
            return
        }
        let now = clock()
        backlog.pointee.window?.note(keyHash, at: now)
        guard backlog.pointee.window?.isTicking == false else { return }
        backlog.pointee.window?.open(event: log.eventNumber)
        tick(subscription, backlog, at: now + span)
    }

    /// A window ends: what is owed passes. Where something was told meanwhile, another one follows, a
    /// whole span behind that.
    mutating func endWindow(_ serial: UInt64) {
        guard let subscription = windowed[serial], let backlog = subscription.pointee.backlog,
            let window = backlog.pointee.window
        else { return }
        backlog.pointee.window?.ticket = nil
        let end = window.lastTold + window.span
        if clock() < end {
            backlog.pointee.window?.age()
            tick(subscription, backlog, at: end)
        } else {
            backlog.pointee.window?.forget()
        }
        // What was told before the last tick may be told again, though another line came behind it.
        tellOwed(to: subscription)
    }

    /// Forgets the rhythm of a subscription that ends.
    mutating func endThrottle(of subscription: SubscriptionReference) {
        guard let window = subscription.pointee.backlog?.pointee.window else { return }
        if let ticket = window.ticket { deadlines.cancel(ticket) }
        windowed[subscription.pointee.serial] = nil
    }

    private mutating func tick(
        _ subscription: SubscriptionReference,
        _ backlog: BacklogReference,
        at time: UInt64
    ) {
        backlog.pointee.window?.ticket = deadlines.add(at: time, .window(subscription.pointee.serial))
    }
}
