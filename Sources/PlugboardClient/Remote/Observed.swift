// A key of the bus for the main actor: what a view shows. The remote observable below it hears of changes on
// the bus's thread; this one changes on the main actor only.

import Observables
import Observation

/// The value of one key on the main actor, for views and whatever else Swift's Observation tells of changes.
///
/// ```swift
/// let price = bus.observed("price", default: 0.0)
/// withObservationTracking {
///     print(price.isLive ? "\(price.value)" : "\(price.value), perhaps no longer")
/// } onChange: {
///     print("there is news")
/// }
/// price.value = 49.9  // publishes it
/// ```
/// `value` has your own change at once, as with ``RemoteObservable``. Everything else comes later, in the
/// order in which it happened. It lasts until it is released, and keeps the bus alive. In a module whose code
/// is on the main actor by default, declare the types of values `nonisolated`.
@MainActor @Observable
public final class Observed<Value: Codable & Sendable> {
    /// Whether the bus is connected and has sent the key's value, so that `value` is the newest.
    public private(set) var isLive = false
    /// The revision of the value; 0 while the key is absent.
    public private(set) var revision = 0
    /// The last failure: a change that was refused, or a value that can't be decoded. It is nil again when
    /// the next value arrives. It isn't printed.
    public private(set) var fault: Fault?
    private var shown: Value

    @ObservationIgnored public let remote: RemoteObservable<Value>
    @ObservationIgnored private var observations = DisposeBag()

    init(_ remote: RemoteObservable<Value>) {
        self.remote = remote
        shown = remote.value
        observe()
        refresh()
    }

    /// The newest value, with this program's own changes. Setting it publishes it.
    public var value: Value {
        get { shown }
        set {
            remote.update(newValue)
            refresh()
        }
    }

    private func observe() {
        remote.changes.observe(on: .mainActor) { [weak self] _ in self?.refresh() }
            .add(to: &observations)
        remote.bus.link.connectionState.observe(on: .mainActor) { [weak self] _ in self?.refresh() }
            .add(to: &observations)
        remote.observe(on: .mainActor) { [weak self] _ in self?.fault = nil }.add(to: &observations)
        let faults = Notifier<Fault>()
        faults.observe(on: .mainActor) { [weak self] in self?.fault = $0 }.add(to: &observations)
        remote.bus.link.faults.observe(key: remote.key) { faults.send($0) }.add(to: &observations)
    }

    private func refresh() {
        shown = remote.value
        revision = remote.revision
        isLive = remote.isReady && remote.bus.state.isConnected
    }
}

extension Bus {
    /// A key as a value on the main actor. Returns at once; until the broker has answered, the value is the
    /// default, and `isLive` is false. It is the default while the key is absent, too.
    @MainActor
    public func observed<Value: Codable & Sendable>(
        _ key: String, default defaultValue: Value
    ) -> Observed<Value> {
        Observed(observable(key, default: defaultValue))
    }
}
