// A key of the bus with the verbs of a local observable: code that observes moves
// between the two by changing the line that makes the value.

import Observables
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
/// **What is seen when.** `value` shows your own change at once; observers are told when
/// the broker's event arrives, in the broker's order, as everyone else on the bus is. When
/// a change is refused or lost, `value` goes back to what the broker says, and
/// `Bus.onFault` says why. Until the first answer (`ready()`), and whenever the key is
/// absent or deleted, the value is the default; a deletion is a change to the default.
///
/// **Before the first answer** a change overwrites nothing. It waits for that answer, and is sent
/// where the key turns out to be absent. Where there is a value, what ``update(_:)-(_)`` was
/// given to do is done with that value; what was assigned, made from a default that doesn't
/// hold, isn't sent but is a fault, `BusError.notReady`.
///
/// **Several writers.** Setting and `update` are last-writer-wins between programs:
/// another one's change between your read and your write is overwritten. `modify` isn't.
///
/// **Causes.** What an observer writes names the event that it was told of as its ``Cause``.
///
/// **Reconnecting.** Observers then hear of each value that differs from what they know,
/// a deletion included.
///
/// **End.** Observing ends when the observable is released, or the bus
/// closes; `value` then stays what it was.
public final class RemoteObservable<Value: Codable & Sendable>: ValueObservable {
    public let key: String
    /// The value of the key when it has none.
    public let defaultValue: Value
    let bus: Bus
    let sub: Int
    let state: Mutex<State>

    struct State {
        /// What observers know; nil once there is no more to observe.
        var observed: ObservableValue<Value>?
        /// What the broker said last.
        var known: Value
        var json: JSON?
        /// 0 while the key is absent.
        var revision = 0
        /// The value after the changes under way; nil while there are none.
        var ahead: Value?
        var underWay = 0
        var isReady = false
        /// Changes that wait for the first answer, oldest first.
        var held: [HeldChange<Value>] = []
        /// The snapshot that is under way has the key.
        var isInSnapshot = false
        /// Why nothing is heard any more.
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
        get { state.withLock { $0.ahead ?? $0.known } }
        set { update(newValue) }
    }

    /// The revision of the value that observers know; 0 while the key is absent.
    public var revision: Int { state.withLock { $0.revision } }

    /// Whether the broker has told what the key holds.
    public var isReady: Bool { state.withLock { $0.isReady } }

    /// Changes the value and publishes it; see the type's description. Before the first answer,
    /// `change` is called once more if a value arrives, with that value.
    public func update(_ change: @escaping @Sendable (inout Value) -> Void) {
        perform(change, again: change)
    }

    /// The same for a change that returns something, or may throw. Since its result is known at
    /// once, it can't be made again: before the first answer it counts as an assignment.
    @discardableResult
    public func update<Result: Sendable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try perform(change, again: nil)
    }

    private func perform<Result: Sendable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result,
        again: HeldChange<Value>.Change?
    ) throws(Failure) -> Result {
        let (result, fault) = try state.withLock {
            (state) throws(Failure) -> (Result, BusError?) in
            var new = state.ahead ?? state.known
            let result = try change(&new)
            return (result, state.isReady ? send(new, &state) : hold(new, again: again, &state))
        }
        tell(fault)
        return result
    }

    public func observe(
        initial: Bool,
        _ observer: @escaping @Sendable (Change<Value>) -> Void
    ) -> Disposable {
        guard let observed = state.withLock({ $0.observed }) else { return Disposable {} }
        return observed.observe(initial: initial, observer)
    }
}
