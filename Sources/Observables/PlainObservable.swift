// The base type for a publisher that stays on one thread, or in one actor: neither it nor its
// observers need to be Sendable. Made to be inherited from, or held by a `ConcretePublisher`.

/// Has weakly held observers of any protocols, on one thread.
///
/// ```swift
/// nonisolated protocol NameObserver: Observer { func nameChanged(to name: String) }
/// nonisolated protocol AgeObserver: Observer { func ageChanged(to age: Int) }
///
/// final class Person: PlainObservable {
///     var name = "Ada" {
///         didSet { withObservers { (observer: any NameObserver) in observer.nameChanged(to: name) } }
///     }
///     var age = 36 {
///         didSet { withObservers { (observer: any AgeObserver) in observer.ageChanged(to: age) } }
///     }
/// }
///
/// final class Badge: NameObserver {
///     func nameChanged(to name: String) { print("badge:", name) }
/// }
/// final class Form: NameObserver, AgeObserver {
///     func nameChanged(to name: String) { print("form:", name) }
///     func ageChanged(to age: Int) { print("form:", age) }
/// }
///
/// let person = Person()
/// let badge = Badge()
/// let form = Form()
/// person.add(badge, form)
/// person.name = "Grace"  // badge and form
/// person.age = 37  // the form only
/// ```
/// Observers are called in the order in which they were added. Inside the call they may add and
/// remove observers: an added one is called from the next notification on, a removed one isn't
/// called any more. A conformance that is isolated to an actor counts only there: an observer without
/// another one is reported (``UnreachedObserver``).
nonisolated open class PlainObservable: Publisher {
    let registry = ObserverRegistry<AnyObject>()

    public init() {}

    /// How many living observers there are, those of keys not counted.
    public final var observerCount: Int { registry.count() }

    public final func add(_ observers: [AnyObject]) {
        registry.add(observers)
    }

    public final func remove(_ observers: [AnyObject]) {
        registry.remove(observers)
    }

    public final func withObservers<Role>(_ body: (Role) -> Void) {
        registry.forEach { _, observer in
            guard let role = observer as? Role else { return _ = IsolatedRoles.pass(over: observer) }
            body(role)
        }
        registry.noteChange()
    }
}

/// A ``PlainObservable`` that can be observed by key as well.
///
/// ```swift
/// nonisolated protocol CellObserver: Observer {
///     func cellChanged(_ change: KeyedChange<String, Int>)
/// }
///
/// final class Sheet: KeyedPlainObservable {
///     private var cells: [String: Int] = [:]
///
///     func set(_ cell: String, to value: Int) {
///         let old = cells.updateValue(value, forKey: cell) ?? 0
///         withObservers(key: cell, old: old, new: value) { (observer: any CellObserver, change) in
///             observer.cellChanged(change)
///         }
///     }
/// }
///
/// final class Chart: CellObserver {
///     func cellChanged(_ change: KeyedChange<String, Int>) {
///         print(change.key, change.old, "→", change.new)
///     }
/// }
///
/// let sheet = Sheet()
/// let chart = Chart()
/// sheet.add(chart, keys: ["A1", "A2"])
/// sheet.set("A1", to: 5)  // A1 0 → 5
/// sheet.set("C3", to: 7)  // nothing: the chart observes other cells
/// sheet.remove(chart, key: "A1")
/// ```
nonisolated open class KeyedPlainObservable: PlainObservable, KeyedPublisher {
    public final func observerCount(key: any Hashable) -> Int {
        registry.count(key: ObservedKey(key))
    }

    public final func add(_ observers: [AnyObject], keys: [any Hashable]) {
        registry.add(observers, keys: keys.map { ObservedKey($0) })
    }

    public final func remove(_ observers: [AnyObject], keys: [any Hashable]) {
        registry.remove(observers, keys: keys.map { ObservedKey($0) })
    }

    public final func withObservers<Role, Key: Hashable>(key: Key, _ body: (Role) -> Void) {
        let key = ObservedKey(key)
        registry.forEach(key: key) { _, observer in
            guard let role = observer as? Role else { return _ = IsolatedRoles.pass(over: observer) }
            body(role)
        }
        registry.noteChange(key: key)
    }

    public final func withObservers<Role, Key: Hashable, Value>(
        key: Key, old: Value, new: Value, _ body: (Role, KeyedChange<Key, Value>) -> Void
    ) {
        let change = KeyedChange(key: key, old: old, new: new)
        withObservers(key: key) { body($0, change) }
    }
}
