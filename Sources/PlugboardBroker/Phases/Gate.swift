// Observers in phases. A write of a key with acknowledging observers reaches the later
// phases when those of the earlier one have said that they are done, or were given
// their time. A gate stands for one key: newer writes of it wait at the same gate.

import PlugboardWire

/// A key that has not reached its later observers yet.
struct Gate {
    /// The newest revision that waits.
    var revision: UInt64
    /// The phase that was told last; later ones wait.
    var phase: UInt8
    /// Subscriptions of that phase that have not acknowledged the newest revision that they
    /// were told.
    var waiting: [Acknowledger]
    /// When time is up, in monotonic nanoseconds.
    let end: UInt64
    var ticket: DeadlineTicket
}

/// What holds a write back from its later observers.
struct AckBarrier {
    /// The phase that is told last; later ones wait.
    let phase: UInt8
    /// Those of it that are told the write and have to acknowledge it.
    let told: [SubscriptionHandle]
    /// Those of it that have yet to acknowledge an earlier write.
    let earlier: [Acknowledger]

    /// All that are waited for.
    var subscriptions: [SubscriptionHandle] { told + earlier.map(\.subscription) }

    func holds(_ subscription: borrowing Subscription) -> Bool { subscription.phase > phase }
}

/// A subscription that a gate waits for. The newest write may be none of those it asked for:
/// then it still has to acknowledge the one before.
struct Acknowledger: BitwiseCopyable {
    let subscription: SubscriptionHandle
    let revision: UInt64
}

/// What a subscription with `ack` was told and has not acknowledged.
struct Awaited: BitwiseCopyable {
    let observable: ObservableHandle
    let revision: UInt64
}
