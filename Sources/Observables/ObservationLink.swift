// How an observable takes part in Swift's Observation. Each observable has one. Observation asks to be told of
// one change: who wants to know of the next has to read again. So a change after which nobody has read costs
// only one load.

import Observation
import Synchronization

/// Tells Observation of reads and changes.
@usableFromInline
struct ObservationLink<Subject: Observable, Member>: ~Copyable, Sendable {
    /// Whether Observation has read the observable since it was last told of a change.
    @usableFromInline let isRead = Atomic(false)
    @usableFromInline let registered = AtomicLazyReference<Registered>()

    @usableFromInline
    final class Registered: Sendable {
        @usableFromInline let registrar = ObservationRegistrar()
        @usableFromInline let path: any KeyPath<Subject, Member> & Sendable

        init(_ path: any KeyPath<Subject, Member> & Sendable) {
            self.path = path
        }
    }

    @usableFromInline
    init() {}

    /// Call it before the value is read.
    @inlinable
    func noteRead(of subject: Subject, _ path: @autoclosure () -> any KeyPath<Subject, Member> & Sendable) {
        if ReadProbe.isReadByObservation { register(subject, path()) }
    }

    /// Call it after the change, outside of every lock. Observation is told only then, because another thread
    /// that looks at the value when it is told should find the new one.
    @inlinable
    func noteChange(of subject: Subject) {
        if isRead.load(ordering: .sequentiallyConsistent) { tell(subject) }
    }

    @usableFromInline
    func register(_ subject: Subject, _ path: any KeyPath<Subject, Member> & Sendable) {
        let registered = registered.load() ?? registered.storeIfNil(Registered(path))
        registered.registrar.access(subject, keyPath: registered.path)
        // In this order, a change that clears the mark before Observation has noted the read can't be the last
        // one to do so. One that comes in between isn't told, but is before the value is read.
        isRead.store(true, ordering: .sequentiallyConsistent)
    }

    @usableFromInline
    func tell(_ subject: Subject) {
        guard isRead.exchange(false, ordering: .sequentiallyConsistent), let registered = registered.load()
        else { return }
        registered.registrar.willSet(subject, keyPath: registered.path)
        registered.registrar.didSet(subject, keyPath: registered.path)
    }
}

/// Finds out whether Observation notes what the current thread reads. Observation has no function for that,
/// but it keeps the key paths of what is read in a set, and so asks for their hash.
@usableFromInline
final class ReadProbe: Observable, Sendable {
    /// The part of a key path that counts how often the path is hashed.
    private struct Index: Hashable, Sendable {
        func hash(into hasher: inout Hasher) {
            ReadProbe.hashes.add(1, ordering: .relaxed)
        }
    }

    private static let shared = ReadProbe()
    private static let registrar = ObservationRegistrar()
    private static let hashes = Atomic(0)
    private static let path: any KeyPath<ReadProbe, Bool> & Sendable = \ReadProbe[Index()]

    private subscript(_ index: Index) -> Bool { false }

    /// Another thread can make it true, too. That is harmless, because the registrar itself knows.
    @usableFromInline static var isReadByObservation: Bool {
        let before = hashes.load(ordering: .relaxed)
        registrar.access(shared, keyPath: path)
        return hashes.load(ordering: .relaxed) != before
    }
}
