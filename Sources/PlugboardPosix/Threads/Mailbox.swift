// One thread leaves a value here for another thread that polls. Only the newest counts.

import Synchronization

/// One value on its way from any thread to a poller's.
public final class Mailbox<Value: Sendable>: Sendable {
    private let wakeup: Wakeup
    private let next = Mutex<Value?>(nil)

    public init() throws {
        wakeup = try Wakeup()
    }

    /// The descriptor to watch for reading.
    public var raw: Int32 { wakeup.raw }

    /// Leaves a value; one that was not taken yet is forgotten. From any thread.
    public func put(_ value: Value) {
        next.withLock { $0 = value }
        wakeup.signal()
    }

    /// Takes the value, if there is one. The poller calls it after it woke.
    public func take() -> Value? {
        wakeup.drain()
        return next.withLock { $0.take() }
    }
}
