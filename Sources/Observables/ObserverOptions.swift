// How an observer wants to be told: the same options as those of a subscription on the bus. Whoever adds the
// observer makes them. They are a value: a change affects only observers that are added later, except for
// what their control does.

/// How an observer is told. The words and defaults are those of a subscription on the bus.
///
/// ```swift
/// let control = ObserverControl()
/// let temperature = ObservableValue(20)
/// let log = temperature.observe(options: ObserverOptions(control: control)) { change in
///     print("log:", change.old ?? 0, "→", change.new)
/// }
/// let alarm = temperature.observe(options: ObserverOptions(phase: 1), where: { $0 > 100 }) { change in
///     print("alarm:", change.new)
/// }
/// temperature.value = 90  // log: 20 → 90
/// control.pause()
/// temperature.value = 99
/// temperature.value = 120  // alarm: 120
/// control.resume()  // log: 90 → 120
/// log.dispose()
/// alarm.dispose()
/// ```
/// **Phase.** Observers of a lower phase are called first, those of the same phase in the order in which they
/// were added. Once an observable value or a notifier has an observer of another phase than 5, it tells of
/// one change after the other: a change that is made during a notification, by an observer or by another
/// thread, is told when all observers have been told of the one before. Then a slow observer delays the
/// others.
///
/// **Where.** An observer with a condition gets only changes whose new value meets it. Those left out fold
/// into the next one that it gets. To hear when a value ceases to meet a condition, observe the condition as
/// a part, such as `\.isEmpty`.
///
/// **Folding.** Changes have to wait during a pause, because of `every`, and until their context is free. By
/// default, changes that wait fold into one, with the `old` of the first and the newest `new`; so each `old`
/// is still the `new` that the observer got before. If a condition no longer holds for the newest value, none
/// is left. With `delivery: .all`, none is folded, as long as there is room. Events of a ``Notifier`` and
/// calls of observers by protocol are never folded.
///
/// **Where it is called.** Changes that have waited are delivered in the observer's context. Without one,
/// that is the thread that resumes or steps, or for `every` a thread of the library's own. An observer is
/// never called twice at the same time.
public struct ObserverOptions: Sendable {
    /// What happens to changes that have to wait.
    public enum Delivery: Sendable, Equatable {
        /// They fold into one, with the newest value.
        case latest
        /// Each comes, as long as there is room.
        case all
    }

    /// What traces call the observer; nil: `#` and its number, or the name of its type.
    public var name: String?
    /// The phase, 0 to 9; other numbers count as the nearest of these.
    public var phase: Int
    /// A time in which the observer is told at most once, with the newest value; events that waited come
    /// together. The last one always comes. Nil, zero and less: at once. More than a day counts as a day.
    public var every: Duration?
    public var delivery: Delivery
    /// Pauses the observer; one control can have several.
    public var control: ObserverControl?
    /// How many changes or events may wait, at least 1. If there are more, a change folds into the last one,
    /// and an event is dropped. ``ObserverControl/lagged`` counts both.
    public var waitingMax: Int

    public init(
        name: String? = nil,
        phase: Int = ObserverOptions.defaultPhase,
        every: Duration? = nil,
        delivery: Delivery = .latest,
        control: ObserverControl? = nil,
        waitingMax: Int = ObserverOptions.defaultWaitingMax
    ) {
        self.name = name
        self.phase = phase
        self.every = every
        self.delivery = delivery
        self.control = control
        self.waitingMax = waitingMax
    }

    /// The phase of observers that don't choose one.
    public static let defaultPhase = 5
    public static let defaultWaitingMax = 10_000
    /// How many observers a trace lists.
    public static let tracedMax = 1_000
}

extension ObserverOptions {
    var place: ObserverPlace { ObserverPlace(phase: min(max(phase, 0), 9), name: name) }

    /// The interval, if there is any.
    var interval: Duration? {
        guard let every, every > .zero else { return nil }
        return min(every, .seconds(86_400))
    }

    /// Whether something may have to wait.
    var needsGate: Bool { interval != nil || control != nil }
}

/// What an observable has to know of an observer beside its closure: when it is its turn, and what traces say
/// of it.
public struct ObserverPlace: Sendable {
    /// 0 to 9.
    public let phase: Int
    public let name: String?
    /// Nil if the observer gets everything at once.
    var gate: (any GateOutcome)?

    init(phase: Int = ObserverOptions.defaultPhase, name: String? = nil, gate: (any GateOutcome)? = nil) {
        self.phase = phase
        self.name = name
        self.gate = gate
    }
}
