// The three kinds of keyed observable with the same functions, so that one test can check each of them.

import Dispatch
@testable import Observables
import Testing

protocol ColourObserver: Observer, Sendable {
    func colourChanged(to colour: String)
}

protocol SizeObserver: Observer, Sendable {
    func sizeChanged(to size: Int)
}

/// Observes only colours, and records them with its name.
final class Painter: ColourObserver {
    let name: String
    private let heard: Recorder<String>
    private let react: @Sendable () -> Void

    init(_ name: String, _ heard: Recorder<String>, react: @escaping @Sendable () -> Void = {}) {
        self.name = name
        self.heard = heard
        self.react = react
    }

    func colourChanged(to colour: String) {
        heard.record("\(name) \(colour)")
        react()
    }
}

/// Observes colours and sizes.
final class Tailor: ColourObserver, SizeObserver {
    private let heard: Recorder<String>

    init(_ heard: Recorder<String>) {
        self.heard = heard
    }

    func colourChanged(to colour: String) { heard.record("tailor \(colour)") }
    func sizeChanged(to size: Int) { heard.record("tailor \(size)") }
}

/// A keyed observable of one of the three kinds.
struct Subject: Sendable {
    enum Kind: CaseIterable, Sendable { case plain, threadSafe, thread }
    typealias Key = any Hashable & Sendable

    let add: @Sendable ([any SendableObject], [Key]?) -> Void
    let remove: @Sendable ([any SendableObject], [Key]?) -> Void
    /// Notifies the observers of colours, or those of a key. Call it only within `run`.
    let say: @Sendable (Key?, String) -> Void
    /// Notifies the observers of sizes. Call it only within `run`.
    let saySize: @Sendable (Int) -> Void
    /// Records what an observer of the key gets. Call it only within `run`.
    let sayChange: @Sendable (String, Int, Int, Recorder<KeyedChange<String, Int>>) -> Void
    let count: @Sendable (Key?) -> Int
    /// How many registrations and how many keys are kept, with those of observers that are gone.
    let kept: @Sendable () -> [Int]
    /// Runs an action where notifications are allowed. Returns when it is done.
    let run: @Sendable (@escaping @Sendable () -> Void) -> Void

    init(_ kind: Kind) {
        switch kind {
        case .plain:
            let plain = Unchecked(KeyedPlainObservable())
            self.init(plain.value, observer: { $0 }, key: { $0 }) { $0() }
        case .threadSafe:
            self.init(KeyedThreadSafeObservable(), observer: { $0 }, key: { $0 }) { $0() }
        case .thread:
            let running = RunningThread()
            self.init(running.thread, observer: { $0 }, key: { $0 }) { running.run($0) }
        }
    }

    private init<Observable: Countable & SendableMetatype>(
        _ observable: Observable,
        observer: @escaping @Sendable (any SendableObject) -> Observable.AnyObserver,
        key: @escaping @Sendable (Key) -> Observable.AnyKey,
        run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        let subject = Unchecked(observable)
        add = { observers, keys in
            let observers = observers.map(observer)
            guard let keys else { return subject.value.add(observers) }
            subject.value.add(observers, keys: keys.map(key))
        }
        remove = { observers, keys in
            let observers = observers.map(observer)
            guard let keys else { return subject.value.remove(observers) }
            subject.value.remove(observers, keys: keys.map(key))
        }
        say = { key, colour in
            let body = { @Sendable (observer: any ColourObserver) in observer.colourChanged(to: colour) }
            if let key {
                subject.value.withObservers(key: key, body)
            } else {
                subject.value.withObservers(body)
            }
        }
        saySize = { size in
            subject.value.withObservers { (observer: any SizeObserver) in observer.sizeChanged(to: size) }
        }
        sayChange = { key, old, new, heard in
            subject.value.withObservers(key: key, old: old, new: new) { (_: any ColourObserver, change) in
                heard.record(change)
            }
        }
        count = { key in subject.value.count(key) }
        kept = { subject.value.kept }
        self.run = run
    }
}

/// What the three kinds have in common beyond the protocol.
private protocol Countable: KeyedPublisher {
    func count(_ key: Subject.Key?) -> Int
    var kept: [Int] { get }
}

extension KeyedPlainObservable: Countable {
    func count(_ key: Subject.Key?) -> Int { key.map { observerCount(key: $0) } ?? observerCount }
    var kept: [Int] { [registry.registrationCount, registry.keyCount] }
}

extension KeyedThreadSafeObservable: Countable {
    func count(_ key: Subject.Key?) -> Int { key.map { observerCount(key: $0) } ?? observerCount }
    var kept: [Int] { [registry.registrationCount, registry.keyCount] }
}

extension KeyedObservableThread: Countable {
    func count(_ key: Subject.Key?) -> Int { key.map { observerCount(key: $0) } ?? observerCount }
    var kept: [Int] { [registry.registrationCount, registry.keyCount] }
}

/// A test uses its plain observable from one thread at a time, which the compiler can't see.
private struct Unchecked<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// A thread that runs as long as this lives.
final class RunningThread: Sendable {
    let thread = KeyedObservableThread()

    init() {
        #expect(throws: Never.self) { try thread.start() }
    }

    deinit { thread.stop() }

    /// Runs an action on the thread. Returns when it is done.
    func run(_ action: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        thread.perform {
            action()
            done.signal()
        }
        done.wait()
    }
}
