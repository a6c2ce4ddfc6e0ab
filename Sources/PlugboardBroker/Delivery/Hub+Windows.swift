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
        backlog.pointee.window?.open(revision: revision, event: log.eventNumber)
        tick(subscription, backlog, at: now + span)
    }

    /// A window ends: what is owed passes, or what was told is forgotten.
    mutating func endWindow(_ serial: UInt64) {
        guard let subscription = windowed[serial], let backlog = subscription.pointee.backlog,
            let window = backlog.pointee.window
        else { return }
        backlog.pointee.window?.ticket = nil
        // While it is paused nothing is told, so nothing has to be spaced.
        if backlog.pointee.isPaused { return }
        let now = clock()
        if backlog.pointee.isEmpty {
            if backlog.pointee.window?.age() == true { tick(subscription, backlog, at: now + window.span) }
        } else if now < window.lastTold + window.span {
            tick(subscription, backlog, at: window.lastTold + window.span)
        } else {
            _ = backlog.pointee.window?.age()
            backlog.pointee.window?.open(revision: revision, event: log.eventNumber)
            tick(subscription, backlog, at: now + window.span)
            tellOwed(to: subscription)
        }
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
