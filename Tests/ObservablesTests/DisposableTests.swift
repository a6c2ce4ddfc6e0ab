// Handles and bags: an observation ends exactly once, and nothing of it is left.

@testable import Observables
import Synchronization
import Testing

@Suite("a disposable")
struct DisposableTests {
    private let number = ObservableValue(0)

    @Test("disposing ends the observation")
    func dispose() {
        let heard = Recorder<Int>()
        let observation = number.observe { heard.record($0.new) }
        number.update(1)
        observation.dispose()
        number.update(2)
        #expect(heard.all == [1])
        #expect(number.observerCount == 0)
    }

    @Test("releasing ends the observation")
    func release() {
        let heard = Recorder<Int>()
        var observation: Disposable? = number.observe { heard.record($0.new) }
        number.update(1)
        #expect(observation != nil)
        observation = nil
        number.update(2)
        #expect(heard.all == [1])
        #expect(number.observerCount == 0)
    }

    @Test("disposing twice, then releasing, removes once")
    func exactlyOnce() {
        let removals = Atomic(0)
        do {
            let disposable = Disposable { removals.add(1, ordering: .relaxed) }
            disposable.dispose()
            disposable.dispose()
        }
        #expect(removals.load(ordering: .relaxed) == 1)
    }

    @Test("many threads that dispose at once remove once")
    func exactlyOnceFromManyThreads() {
        let removals = Atomic(0)
        for _ in 0..<200 {
            let disposable = Disposable { removals.add(1, ordering: .relaxed) }
            onThreads(4) { _ in disposable.dispose() }
        }
        #expect(removals.load(ordering: .relaxed) == 200)
    }

    @Test("disposing of one twice doesn't remove another")
    func noOtherRemoved() {
        let first = number.observe { _ in }
        let second = number.observe { _ in }
        first.dispose()
        first.dispose()
        #expect(number.observerCount == 1)
        second.dispose()
    }

    @Test("a bag ends all of its observations when it is released")
    func bagReleased() {
        let heard = Recorder<Int>()
        do {
            var bag = DisposeBag()
            number.observe { heard.record($0.new) }.add(to: &bag)
            number.observe { heard.record(-$0.new) }.add(to: &bag)
            #expect(number.observerCount == 2)
            number.update(1)
            #expect(!bag.isEmpty)
        }
        #expect(number.observerCount == 0)
        number.update(2)
        #expect(heard.all == [1, -1])
    }

    @Test("a bag can be emptied and filled again")
    func bagDisposed() {
        var bag = DisposeBag()
        number.observe { _ in }.add(to: &bag)
        bag.dispose()
        #expect(bag.isEmpty)
        #expect(number.observerCount == 0)
        number.observe { _ in }.add(to: &bag)
        #expect(number.observerCount == 1)
        bag.dispose()
    }

    @Test("a handle that outlives its observable does nothing")
    func outlivesObservable() {
        var number: ObservableValue<Int>? = ObservableValue(0)
        let observation = number?.observe { _ in }
        weak let remembered = number
        number = nil
        #expect(remembered == nil)
        observation?.dispose()
    }

    @Test("what an observer captured is released with its handle, though the observable lives on")
    func capturesReleased() {
        let census = Census()
        let observations = (0..<100).map { _ in
            number.observe { [citizen = census.citizen()] _ in withExtendedLifetime(citizen) {} }
        }
        number.update(1)
        #expect(census.living == 100)
        for observation in observations[..<60] { observation.dispose() }
        #expect(census.living == 40)
        #expect(number.observerCount == 40)
        for observation in observations { observation.dispose() }
        #expect(census.living == 0)
        #expect(number.observerCount == 0)
    }

    @Test("handles that come and go give their places back")
    func placesGivenBack() {
        let constant = number.observe { _ in }
        for _ in 0..<1000 { number.observe { _ in }.dispose() }
        #expect(number.observers.places <= 2)
        constant.dispose()
        #expect(number.observers.places == 0)
    }

    @Test("values that have been replaced are released")
    func valuesReleased() {
        let census = Census()
        let current = ObservableValue(census.citizen())
        let observation = current.observe { _ in }
        for _ in 0..<100 { current.update(census.citizen()) }
        #expect(census.living == 1)
        observation.dispose()
    }

    @Test("what an observer captured is released with the observable")
    func releasedWithObservable() {
        let census = Census()
        var bag = DisposeBag()
        do {
            let number = ObservableValue(0)
            number.observe(initial: true) { [citizen = census.citizen()] _ in
                withExtendedLifetime(citizen) {}
            }.add(to: &bag)
            #expect(census.living == 1)
        }
        #expect(census.living == 0)
        bag.dispose()
    }
}
