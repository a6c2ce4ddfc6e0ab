// Many threads at the same time: the promises about order, waiting and memory still hold.

import Dispatch
import Observables
import Synchronization
import Testing

private protocol TickObserver: Observer, Sendable { func tick() }

private final class Ticker: TickObserver {
    let ticks = Atomic(0)
    func tick() { ticks.add(1, ordering: .relaxed) }
}

@Suite("many threads at once")
struct StressTests {
    private let threads = 8
    private let rounds = 500

    @Test("no update is lost, and every observer sees one unbroken chain of changes")
    func chain() {
        let number = ObservableValue(0)
        let recorders = (0..<4).map { _ in Recorder<Change<Int>>() }
        let observations = recorders.map { recorder in number.observe { recorder.record($0) } }
        onThreads(threads) { _ in
            for _ in 0..<rounds { number.update { $0 += 1 } }
        }
        let total = threads * rounds
        #expect(number.value == total)
        let chain = (0..<total).map { Change(old: $0, new: $0 + 1) }
        for recorder in recorders { #expect(recorder.all == chain) }
        for observation in observations { observation.dispose() }
    }

    @Test("an observer that comes in the middle gets the current value, then all that follows")
    func initialInTheMiddle() {
        let number = ObservableValue(0)
        let broken = Atomic(0)
        onThreads(threads) { thread in
            guard thread.isMultiple(of: 2) else {
                for _ in 0..<rounds { number.update { $0 += 1 } }
                return
            }
            for _ in 0..<rounds / 5 {
                let last = Mutex<Int?>(nil)
                let observation = number.observe(initial: true) { change in
                    let isInOrder = last.withLock { last in
                        defer { last = change.new }
                        return change.old == last
                    }
                    if !isInOrder { broken.add(1, ordering: .relaxed) }
                }
                if last.withLock({ $0 }) == nil { broken.add(1, ordering: .relaxed) }
                observation.dispose()
            }
        }
        #expect(broken.load(ordering: .relaxed) == 0)
        #expect(number.observerCount == 0)
    }

    @Test("no observer is entered twice at once")
    func oneAtATime() {
        let number = ObservableValue(0)
        let inside = Atomic(0)
        let overlaps = Atomic(0)
        let observation = number.observe { _ in
            if inside.add(1, ordering: .sequentiallyConsistent).newValue > 1 {
                overlaps.add(1, ordering: .relaxed)
            }
            inside.subtract(1, ordering: .sequentiallyConsistent)
        }
        onThreads(threads) { _ in
            for _ in 0..<rounds { number.value = 1 }
        }
        observation.dispose()
        #expect(overlaps.load(ordering: .relaxed) == 0)
    }

    @Test("a busy observer of a value holds up neither updates, nor additions, nor removals, nor others")
    func busyValueObserver() {
        let number = ObservableValue(0)
        let entered = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)
        let finished = DispatchSemaphore(value: 0)
        let heard = Recorder<Int>()
        let busy = number.observe { _ in
            entered.signal()
            gate.wait()
        }
        let other = number.observe { heard.record($0.new) }
        DispatchQueue.global().async {
            number.update(1)
            finished.signal()
        }
        entered.wait()
        number.observe { _ in }.dispose()
        number.update(2)
        #expect(heard.all == [1, 2])
        busy.dispose()
        gate.signal()
        finished.wait()
        #expect(heard.all == [1, 2])
        other.dispose()
    }

    @Test("adding and removing don't wait for a notification under way")
    func busyWeakObserver() {
        let observable = KeyedThreadSafeObservable()
        let heard = Recorder<String>()
        let entered = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)
        let finished = DispatchSemaphore(value: 0)
        let busy = Painter("busy", heard) {
            entered.signal()
            gate.wait()
        }
        let removed = Painter("removed", heard)
        let added = Painter("added", heard)
        observable.add(busy, removed, key: "A")
        DispatchQueue.global().async {
            observable.withObservers(key: "A") { (observer: any ColourObserver) in
                observer.colourChanged(to: "red")
            }
            finished.signal()
        }
        entered.wait()
        observable.remove(removed, key: "A")
        observable.add(added, keys: ["A", "B"])
        #expect(observable.observerCount(key: "A") == 2)
        gate.signal()
        finished.wait()
        #expect(heard.all == ["busy red"])
    }

    @Test("observers come, go and die while others notify: the constant ones miss nothing")
    func churn() {
        let observable = KeyedThreadSafeObservable()
        let constant = Ticker()
        observable.add(constant)
        observable.add(constant, key: 1)
        onThreads(threads) { thread in
            for round in 0..<rounds {
                let ticker = Ticker()
                observable.add(ticker, keys: [1, "\(round)"])
                observable.add(ticker)
                observable.withObservers { (observer: any TickObserver) in observer.tick() }
                observable.withObservers(key: 1) { (observer: any TickObserver) in observer.tick() }
                if thread.isMultiple(of: 2) {
                    observable.remove(ticker, keys: [1, "\(round)"])
                    observable.remove(ticker)
                }
            }
        }
        #expect(constant.ticks.load(ordering: .relaxed) == 2 * threads * rounds)
        #expect(observable.observerCount == 1)
        #expect(observable.observerCount(key: 1) == 1)
    }

    @Test("two values that update each other from two threads don't deadlock")
    func eachOther() {
        let first = ObservableValue(0)
        let second = ObservableValue(0)
        var bag = DisposeBag()
        first.observe { [second] change in
            if change.new > second.value { second.update(change.new) }
        }.add(to: &bag)
        second.observe { [first] change in
            if change.new > first.value { first.update(change.new) }
        }.add(to: &bag)
        onThreads(2) { thread in
            for round in 0..<rounds { (thread == 0 ? first : second).update(round) }
        }
        bag.dispose()
        #expect(first.observerCount == 0)
    }

    @Test("all observers of a notifier hear the events of many threads in one order")
    func notifier() {
        let numbers = Notifier<Int>()
        let sends = rounds * 10
        let first = Recorder<Int>()
        let second = Recorder<Int>()
        var bag = DisposeBag()
        numbers.observe { first.record($0) }.add(to: &bag)
        numbers.observe { second.record($0) }.add(to: &bag)
        onThreads(threads) { thread in
            for round in 0..<sends { numbers.send(thread * sends + round) }
        }
        bag.dispose()
        let isSame = first.all == second.all
        #expect(isSame)
        #expect(first.all.count == threads * sends)
    }

    @Test("observations that many threads begin and end leave nothing behind")
    func nothingLeft() {
        let census = Census()
        let number = ObservableValue(0)
        onThreads(threads) { _ in
            for round in 0..<rounds {
                let observation = number.observe { [citizen = census.citizen()] _ in
                    withExtendedLifetime(citizen) {}
                }
                if round.isMultiple(of: 10) { number.update { $0 += 1 } }
                observation.dispose()
            }
        }
        #expect(census.living == 0)
        #expect(number.observerCount == 0)
    }

    @Test("a thread that many others notify calls each observer once for each, in its context")
    func thread() async {
        let running = RunningThread()
        let own = Ticker()
        let queued = Ticker()
        let queue = DispatchQueue(label: "observers")
        running.thread.add(own)
        running.thread.add(queued, on: .queue(queue))
        onThreads(threads) { _ in
            for _ in 0..<rounds {
                running.thread.withObservers { (observer: any TickObserver) in observer.tick() }
            }
        }
        running.run {}
        queue.sync {}
        #expect(own.ticks.load(ordering: .relaxed) == threads * rounds)
        #expect(queued.ticks.load(ordering: .relaxed) == threads * rounds)
    }
}
