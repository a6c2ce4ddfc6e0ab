// A key of the bus with the functions of a local observable. To move code between the two, change only
// the line that makes the value.

import Observables
import Observation
import PlugboardWire
import Synchronization

/// The value of one key, kept up to date.
///
/// ```swift
/// // let total = ObservableValue(0.0)                          // in this process
/// let total = bus.observable("cart.total", default: 0.0)      // on the bus
/// try await total.ready()
/// let observation = total.observe { change in print(change.old ?? 0, "→", change.new) }
/// total.value = 42.5
/// total.update { $0 += 1 }
/// ```
/// **When a change is visible.** `value` has your own change at once. Observers are called when the
/// broker's event arrives, in the broker's order, as for all other clients. If a change is refused or
/// lost, `value` returns to the broker's value, and `Bus.onFault` says why. The value is the default
/// until the first answer (`ready()`) and while the key is absent. A deletion is a change to the default.
///
/// **Before the first answer** a change overwrites nothing. It waits for the answer. If the key is
/// absent, the change is sent. If there is a value, the closure of ``update(_:)->()`` runs again with
/// that value. But an assignment was made from a default that isn't the value, so it isn't sent and
/// becomes a fault, `BusError.notReady`.
///
/// **Several writers.** Assignments and `update` overwrite a change that another program makes between
/// your read and your write: the last writer wins. `modify` doesn't.
///
/// **Causes.** What an observer writes names the observed event as its ``Cause``.
///
/// **Reconnecting.** After a reconnection, observers get the value if it differs from the last one that
/// they got. A deletion counts, too.
///
/// **Observation.** What reads `value` within `withObservationTracking`, a SwiftUI body or `Observations`, is
/// told of the next change. On the main actor, ``Observed`` is simpler.
///
/// **End.** Observing ends when the observable is released, or when the bus closes. `value` then stays as
/// it was.
public final class RemoteObservable<Value: Codable & Sendable>: ValueObservable, Observation.Observable {
    public let key: String
    /// The value while the key is absent.
    public let defaultValue: Value
    let bus: Bus
    let sub: Int
    let state: Mutex<State>
    /// Counts changes of what can be read here, so that Observation is told of them.
    let changes = ObservableValue(0)

    struct State {
        /// What observers observe; nil after the end.
        var observed: ObservableValue<Value>?
        /// The broker's newest value.
        var known: Value
        var json: JSON?
        /// 0 while the key is absent.
        var revision = 0
        /// The value with changes that weren't answered yet; nil if there are none.
        var ahead: Value?
        var underWay = 0
        var isReady = false
        /// Changes that wait for the first answer, oldest first.
        var held: [HeldChange<Value>] = []
        /// Whether the present snapshot has the key.
        var isInSnapshot = false
        /// Why no more values come; nil if they do.
        var end: BusError?
    }

    init(bus: Bus, key: String, default defaultValue: Value) {
        self.bus = bus
        self.key = key
        self.defaultValue = defaultValue
        sub = bus.link.state.withLock { $0.takeSub() }
        state = Mutex(State(observed: ObservableValue(defaultValue), known: defaultValue))
        begin()
    }

    deinit {
        bus.link.unsubscribe(sub)
    }

    /// The newest value, with this program's own changes.
    public var value: Value {
        get { read { $0.ahead ?? $0.known } }
        set { update(newValue) }
    }

    /// The revision of the value that observers know; 0 while the key is absent.
    public var revision: Int { read { $0.revision } }

    /// Whether the broker has sent the key's value.
    public var isReady: Bool { read { $0.isReady } }

    /// Changes the value and publishes it; see the description of the type. Before the first answer,
    /// `change` is called once more if a value arrives, with that value.
    public func update(_ change: @escaping @Sendable (inout Value) -> Void) {
        perform(change, again: change)
    }

    /// The same for a change that returns a result or may throw. The result is returned at once, so the
    /// change can't be made again. Before the first answer it counts as an assignment.
    @discardableResult
    public func update<Result: Sendable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try perform(change, again: nil)
    }

    private func perform<Result: Sendable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result, again: HeldChange<Value>.Change?
    ) throws(Failure) -> Result {
        let (result, fault) = try state.withLock {
            (state) throws(Failure) -> (Result, BusError?) in
            var new = state.ahead ?? state.known
            let result = try change(&new)
            return (result, state.isReady ? send(new, &state) : hold(new, again: again, &state))
        }
        noteChange()
        tell(fault)
        return result
    }

    private func read<Part: Sendable>(_ part: (State) -> Part) -> Part {
        _ = changes.value
        return state.withLock { part($0) }
    }

    /// Call it after a change of the state, without the state's lock.
    func noteChange() { changes.update { $0 &+= 1 } }

    public func observe(
        initial: Bool, _ observer: @escaping @Sendable (Change<Value>) -> Void
    ) -> Disposable {
        guard let observed = state.withLock({ $0.observed }) else { return Disposable {} }
        return observed.observe(initial: initial, observer)
    }

    public func observe(
        initial: Bool, in place: ObserverPlace, _ observer: @escaping @Sendable (Change<Value>) -> Void
    ) -> Disposable {
        guard let observed = state.withLock({ $0.observed }) else { return Disposable {} }
        return observed.observe(initial: initial, in: place, observer)
    }

    /// Calls `observer` after each change with what became of it for each observer of this object; see
    /// `ObserverTrace`. `Bus.trace` shows the clients that observe the key.
    public func trace(_ observer: @escaping @Sendable (ObserverTrace<Change<Value>>) -> Void) -> Disposable {
        guard let observed = state.withLock({ $0.observed }) else { return Disposable {} }
        return observed.trace(observer)
    }
}
