// Dispatch queues as contexts: apart, so that nothing else needs Dispatch for them.

import Dispatch

extension ObserverContext {
    /// On this queue. A serial queue calls in the order of the notifications, a concurrent one in
    /// any order and several at once.
    public static func queue(_ queue: DispatchQueue) -> ObserverContext {
        ObserverContext { call in queue.async(execute: call) }
    }
}
