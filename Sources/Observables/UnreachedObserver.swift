// The report of an observer that no call reaches. Its class is reported once, to the program or on standard
// error, so that a forgotten context shows without a trace.

import Synchronization

/// A class of observers that a publisher can't tell anything.
///
/// Their conformances are isolated to an actor that the library has never met, or to another one than that of
/// their context, or of a ``PlainObservable``. Or they have no role at all: the protocols of observers refine
/// ``Observer``. Add such an observer on its actor, or with that context:
/// `thermometer.add(display, on: .actor(Displays.shared))`.
public struct UnreachedObserver: Sendable, CustomStringConvertible {
    /// The name of the class, with its module.
    public let observer: String

    /// The line that is reported.
    public var description: String {
        "Observables: \(observer) is told nothing. It is no Observer here, nor on any actor that is known: "
            + "add it on its actor, or with add(_:on:)"
    }

    private static let handler = Mutex<(@Sendable (UnreachedObserver) -> Void)?>(nil)
    private static let reported = Mutex<Set<ObjectIdentifier>>([])

    /// Says who gets the reports, one for each class, from any thread. Without a handler, which is so at first,
    /// they go to standard error, as a line each.
    public static func report(to handler: (@Sendable (UnreachedObserver) -> Void)?) {
        self.handler.withLock { $0 = handler }
    }

    /// Reports a class, unless that has been done.
    static func report(_ observer: AnyClass) {
        guard reported.withLock({ $0.insert(ObjectIdentifier(observer)).inserted }) else { return }
        let report = UnreachedObserver(observer: String(reflecting: observer))
        guard let handler = handler.withLock({ $0 }) else { return StandardError.line(report.description) }
        handler(report)
    }
}
