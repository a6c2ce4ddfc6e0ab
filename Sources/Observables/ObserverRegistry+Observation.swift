// How publishers take part in Swift's Observation. They keep no values, so the class that does says when it
// reads one. A notification tells Observation that the value has changed.

import Observation
import Synchronization

/// What Observation knows of a publisher: its key paths stand for the keys.
final class PublisherReads: Observable, Sendable {
    private let isRead = Atomic(false)
    private let registrar = Mutex<ObservationRegistrar?>(nil)

    private subscript(_ key: ObservedKey?) -> Bool { false }

    func note(_ key: ObservedKey?) {
        guard ReadProbe.isReadByObservation else { return }
        let registrar = registrar.withLock { registrar in
            let known = registrar ?? ObservationRegistrar()
            registrar = known
            return known
        }
        isRead.store(true, ordering: .releasing)
        registrar.access(self, keyPath: \PublisherReads[key])
    }

    func noteChange(_ key: ObservedKey?) {
        guard isRead.load(ordering: .acquiring), let registrar = registrar.withLock({ $0 }) else { return }
        registrar.willSet(self, keyPath: \PublisherReads[key])
        registrar.didSet(self, keyPath: \PublisherReads[key])
    }
}

extension ObserverRegistry {
    func noteRead(key: Key = nil) { reads.note(key) }

    func noteChange(key: Key = nil) { reads.noteChange(key) }
}

extension PlainObservable: Observable {
    /// Says that the state of which this class notifies is being read. Call it where your class reads that
    /// state; the next notification then tells Swift's Observation of the change.
    public final func noteRead() { registry.noteRead() }
}

extension KeyedPlainObservable {
    /// The same for the state of a key.
    public final func noteRead(key: any Hashable) { registry.noteRead(key: ObservedKey(key)) }
}

extension ThreadSafeObservable: Observable {
    /// Says that the state of which this class notifies is being read. Call it where your class reads that
    /// state; the next notification then tells Swift's Observation of the change.
    public final func noteRead() { registry.noteRead() }
}

extension KeyedThreadSafeObservable {
    /// The same for the state of a key.
    public final func noteRead(key: any Hashable & Sendable) { registry.noteRead(key: ObservedKey(key)) }
}

extension ObservableThread: Observable {
    /// Says that the state of which this class notifies is being read. Call it where your class reads that
    /// state; the next notification then tells Swift's Observation of the change.
    public final func noteRead() { registry.noteRead() }
}

extension KeyedObservableThread {
    /// The same for the state of a key.
    public final func noteRead(key: any Hashable & Sendable) { registry.noteRead(key: ObservedKey(key)) }
}
