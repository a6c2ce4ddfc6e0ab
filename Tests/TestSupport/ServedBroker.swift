// A broker in the test's own process, on a thread of its own.

import PlugboardBroker
import PlugboardPosix
import Synchronization

/// A broker that runs until it is stopped or released.
public final class ServedBroker: Sendable {
    public let broker: Broker
    private let end = EndMark()

    public init(_ configuration: Configuration) throws {
        broker = try Broker(configuration: configuration)
        let (broker, end) = (broker, end)
        try Background.start {
            do { try broker.run() } catch { print("a test's broker: \(error)") }
            end.hasCome.store(true, ordering: .releasing)
        }
    }

    deinit {
        broker.stop()
    }

    /// Whether its socket and its lock are free.
    public var hasEnded: Bool { end.hasCome.load(ordering: .acquiring) }

    /// Tells the clients that the broker ends, and ends it. Doesn't wait.
    public func stop() { broker.stop() }

    /// Stops the broker and waits until it has ended.
    public func stopAndWait(seconds: Double = HangGuard.seconds) {
        stop()
        let limit = TimeLimit(seconds: seconds)
        while !hasEnded, !limit.isOver { Pause.sleep(seconds: 0.001) }
    }
}

private final class EndMark: Sendable {
    let hasCome = Atomic(false)
}
