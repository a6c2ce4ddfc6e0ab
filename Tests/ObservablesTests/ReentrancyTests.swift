// Observers of a value may do anything during a notification.

@testable import Observables
import Synchronization
import Testing

@Suite("within a notification")
struct ReentrancyTests {
    private let number = ObservableValue(0)

    @Test("an observer may change the value: everyone sees one unbroken chain of changes")
    func publishAgain() {
        let before = Recorder<Change<Int>>()
        let after = Recorder<Change<Int>>()
        var bag = DisposeBag()
        number.observe { before.record($0) }.add(to: &bag)
        number.observe { [number] change in
            if change.new < 3 { number.update(change.new + 1) }
        }.add(to: &bag)
        number.observe { after.record($0) }.add(to: &bag)
        number.update(1)
        bag.dispose()
        let chain = [Change(old: 0, new: 1), Change(old: 1, new: 2), Change(old: 2, new: 3)]
        #expect(before.all == chain)
        #expect(after.all == chain)
    }

    @Test("an observer may dispose of itself: it was called once")
    func disposeOfItself() {
        let calls = Atomic(0)
        let own = Mutex<Disposable?>(nil)
        let observation = number.observe { _ in
            calls.add(1, ordering: .relaxed)
            own.withLock { $0.take() }?.dispose()
        }
        own.withLock { $0 = observation }
        number.update(1)
        number.update(2)
        #expect(calls.load(ordering: .relaxed) == 1)
        #expect(number.observerCount == 0)
    }

    @Test("an observer that another one removes isn't called for that change any more")
    func disposeOfAnother() {
        let other = Mutex<Disposable?>(nil)
        let heard = Recorder<Change<Int>>()
        let first = number.observe { _ in other.withLock { $0.take() }?.dispose() }
        let second = number.observe { heard.record($0) }
        other.withLock { $0 = second }
        number.update(1)
        first.dispose()
        #expect(heard.all.isEmpty)
    }

    @Test("an observer added by another one hears from the next change on")
    func observeWithin() {
        let heard = Recorder<Change<Int>>()
        let bag = Mutex(DisposeBag())
        let outer = number.observe { [number] change in
            guard change.new == 1 else { return }
            let inner = number.observe { heard.record($0) }
            bag.withLock { inner.add(to: &$0) }
        }
        number.update(1)
        #expect(heard.all.isEmpty)
        number.update(2)
        outer.dispose()
        #expect(heard.all == [Change(old: 1, new: 2)])
    }

    @Test("an observer may change the value in its initial call, and hears of that next")
    func publishInInitialCall() {
        let heard = Recorder<Change<Int>>()
        let observation = number.observe(initial: true) { [number] change in
            heard.record(change)
            if change.old == nil { number.update(1) }
        }
        observation.dispose()
        #expect(heard.all == [Change(old: nil, new: 0), Change(old: 0, new: 1)])
    }

    @Test("two values may update each other")
    func eachOther() {
        let celsius = ObservableValue(0)
        let doubled = ObservableValue(0)
        var bag = DisposeBag()
        celsius.observe { [doubled] change in
            if doubled.value != change.new * 2 { doubled.update(change.new * 2) }
        }.add(to: &bag)
        doubled.observe { [celsius] change in
            if celsius.value != change.new / 2 { celsius.update(change.new / 2) }
        }.add(to: &bag)
        doubled.update(42)
        #expect(celsius.value == 21)
        celsius.update(4)
        #expect(doubled.value == 8)
        bag.dispose()
    }

    @Test("what dies with the old value may use the observable")
    func deinitUsesTheObservable() {
        final class Goodbye: Sendable {
            let observable: ObservableValue<Int>
            init(_ observable: ObservableValue<Int>) { self.observable = observable }
            deinit { observable.value += 1 }
        }
        let holder = ObservableValue<Goodbye?>(Goodbye(number))
        holder.value = nil
        #expect(number.value == 1)

        final class Reader: Sendable {
            let read: @Sendable () -> Void
            init(_ read: @escaping @Sendable () -> Void) { self.read = read }
            deinit { read() }
        }
        let readers = ObservableValue<Reader?>(nil)
        readers.value = Reader { [weak readers] in _ = readers?.value }
        readers.value = nil
        #expect(readers.value == nil)
    }

    /// Events that need no release end without the lock, others under it.
    @Test("an observer may finish the notifier: all hear of this event, and are released after it")
    func finishWithin() {
        func trial<Event: Sendable & Equatable>(_ event: Event) {
            let (notifier, heard, census) = (Notifier<Event>(), Recorder<Event>(), Census())
            var bag = DisposeBag()
            notifier.observe { [citizen = census.citizen()] _ in
                withExtendedLifetime(citizen) { notifier.finish() }
            }.add(to: &bag)
            notifier.observe { heard.record($0) }.add(to: &bag)
            notifier.send(event)
            #expect(heard.all == [event])
            #expect(census.living == 0)
            notifier.send(event)
            #expect(heard.all == [event])
            bag.dispose()
        }
        trial(5)
        trial("a string that is too long to be kept in place")
    }

    @Test("places of observers that go during a notification are free after the next one")
    func placesAfterwards() {
        let bag = Mutex(DisposeBag())
        let observation = number.observe { _ in bag.withLock { $0 = DisposeBag() } }
        bag.withLock { bag in
            for _ in 0..<100 { number.observe { _ in }.add(to: &bag) }
        }
        number.update(1)
        number.update(2)
        #expect(number.observerCount == 1)
        #expect(number.observers.places == 1)
        observation.dispose()
    }
}
