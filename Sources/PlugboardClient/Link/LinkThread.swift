// The bus's own thread. It connects, reads, writes and waits until the link is closed. Its own state
// (descriptor, bytes, remembered keys) belongs to it alone. What it shares with callers is in `Link`.

import PlugboardPosix
import PlugboardWire

/// The work of the thread for one link. Only that thread uses it.
final class LinkThread {
    private let link: Link
    /// How many attempts have failed in a row, for the pause before the next one.
    private var failures = 0
    private let waitsForBrokerUntil: UInt64
    /// Whether the last attempt failed because too many clients waited to be accepted, and until when to
    /// wait for that at first.
    private var isQueueFull = false
    private let waitsInQueueUntil: UInt64

    static func start(_ link: Link) throws {
        try Background.start { LinkThread(link).run() }
    }

    private init(_ link: Link) {
        self.link = link
        waitsForBrokerUntil = Link.deadline(after: link.options.waitForBroker.nanoseconds)
        waitsInQueueUntil = Link.deadline(after: link.options.requestTimeout.nanoseconds)
    }

    private func run() {
        while !link.isClosed {
            let reason = attempt()
            link.broke(reason)
            guard mayTryAgain(after: reason) else { return link.close(reason) }
            pause()
        }
    }

    /// Makes one connection and runs it to its end. Returns why it ended.
    private func attempt() -> BusError {
        isQueueFull = false
        do {
            // This thread has deadlines to keep, so it doesn't wait here.
            let socket =
                try InheritedConnection.take(path: link.socketPath, trusting: link.trusted)
                ?? UnixSocket.connect(path: link.socketPath, trusting: link.trusted, seconds: 0)
            let conversation = try Conversation(link, socket)
            let reason = conversation.run()
            failures = conversation.wasSetUp ? 0 : failures + 1
            return reason
        } catch let error as UntrustedBroker {
            failures += 1
            return .untrusted(path: link.socketPath, reason: "\(error)")
        } catch {
            failures += 1
            isQueueFull = (error as? SystemError)?.isQueueFull ?? false
            let reason = isQueueFull ? "too many clients wait to be accepted" : "\(error)"
            return .noBroker(path: link.socketPath, reason: reason)
        }
    }

    private func mayTryAgain(after reason: BusError) -> Bool {
        guard link.isOpening else { return link.options.reconnects }
        switch reason {
        case .noBroker, .disconnected: break
        default: return false
        }
        return MonotonicClock.nanoseconds()
            < (isQueueFull ? max(waitsForBrokerUntil, waitsInQueueUntil) : waitsForBrokerUntil)
    }

    /// Waits before the next attempt. Meanwhile, fails requests whose deadline has passed.
    private func pause() {
        let length = link.options.backoff.pause(max(0, failures - 1))
        let end = Link.deadline(after: link.isOpening ? min(length, 50_000_000) : length)
        let poller = PollPoller()
        do {
            try poller.add(link.wakeup.raw, token: 0, interest: .read)
            while true {
                let now = MonotonicClock.nanoseconds()
                link.expire(now)
                guard now < end, case .wait(let deadline) = link.next(isBlocked: true) else { return }
                let wake = min(end, deadline)
                try poller.wait(milliseconds: Conversation.milliseconds(from: now, to: wake)) { _ in }
                link.wakeup.drain()
                link.noteAwake()
            }
        } catch {
            link.close(.disconnected(reason: "\(error)"))
        }
    }
}
