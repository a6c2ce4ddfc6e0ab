// A thread that has observers: where they are called, in which order, and when the thread ends.

import Dispatch
import Observables
import Synchronization
import Testing

private protocol NumberObserver: Observer {
    func hear(_ number: Int)
}

/// Records what it is told, and asks a question each time.
private final class Listener: NumberObserver, Sendable {
    let numbers = Recorder<Int>()
    let answers = Recorder<Bool>()
    private let question: @Sendable () -> Bool

    init(_ question: @escaping @Sendable () -> Bool = { true }) {
        self.question = question
    }

    func hear(_ number: Int) {
        answers.record(question())
        numbers.record(number)
    }
}

private actor Accountant: NumberObserver {
    let numbers: Recorder<Int>

    init(_ numbers: Recorder<Int>) {
        self.numbers = numbers
    }

    nonisolated func hear(_ number: Int) {
        assumeIsolated { $0.numbers.record(number) }
    }
}

@MainActor private final class View: @MainActor NumberObserver {
    let numbers: Recorder<Int>
    private var last = 0

    nonisolated init(_ numbers: Recorder<Int>) {
        self.numbers = numbers
    }

    func hear(_ number: Int) {
        last = number
        numbers.record(last)
    }
}

extension ObservableThread {
    fileprivate func tell(_ number: Int) {
        withObservers { (observer: any NumberObserver) in observer.hear(number) }
    }
}

@Suite("an observable thread")
struct ObservableThreadTests {
    private let running = RunningThread()
    private var thread: KeyedObservableThread { running.thread }

    @Test("without a context an observer is called on the thread itself, at once")
    func onItself() {
        let listener = Listener { [thread] in thread.isCurrent }
        thread.add(listener)
        running.run { [thread] in
            thread.tell(1)
            #expect(listener.numbers.all == [1])
        }
        #expect(listener.answers.all == [true])
    }

    @Test("without a context an observer is called on the thread when another one notifies")
    func onItselfFromElsewhere() {
        let listener = Listener { [thread] in thread.isCurrent }
        thread.add(listener)
        for number in 1...3 { thread.tell(number) }
        running.run {}
        #expect(listener.numbers.all == [1, 2, 3])
        #expect(listener.answers.all == [true, true, true])
        #expect(!thread.isCurrent)
    }

    @Test("an observer that chose a queue is called on it, in order")
    func onQueue() {
        let queue = DispatchQueue(label: "observers")
        let listener = Listener {
            dispatchPrecondition(condition: .onQueue(queue))
            return true
        }
        thread.add(listener, on: .queue(queue))
        running.run { [thread] in
            for number in 1...100 { thread.tell(number) }
        }
        queue.sync {}
        #expect(listener.numbers.all == Array(1...100))
    }

    @Test("an observer that chose an actor is called on it, in order")
    func onActor() async {
        let numbers = Recorder<Int>()
        let accountant = Accountant(numbers)
        thread.add(accountant, on: .actor(accountant))
        for number in 1...100 { thread.tell(number) }
        #expect(await eventually { numbers.all.count == 100 })
        #expect(numbers.all == Array(1...100))
    }

    @Test("an observer that chose the main actor is called on it, in order")
    func onMainActor() async {
        let listener = Listener { MainActor.assumeIsolated { true } }
        thread.add(listener, on: .mainActor)
        for number in 1...100 { thread.tell(number) }
        #expect(await eventually { listener.numbers.all.count == 100 })
        #expect(listener.numbers.all == Array(1...100))
    }

    @Test("a conformance isolated to the main actor counts there")
    func isolatedConformance() async {
        let numbers = Recorder<Int>()
        let view = View(numbers)
        thread.add(view, on: .mainActor)
        thread.tell(1)
        #expect(await eventually { numbers.all == [1] })
    }

    @Test("each observer is called where it chose, in one notification")
    func allAtOnce() async {
        let queue = DispatchQueue(label: "observers")
        let own = Listener { [thread] in thread.isCurrent }
        let queued = Listener { [thread] in !thread.isCurrent }
        let main = Listener { [thread] in !thread.isCurrent }
        thread.add(own)
        thread.add(queued, on: .queue(queue))
        thread.add(main, on: .mainActor)
        running.run { [thread] in thread.tell(7) }
        for listener in [own, queued, main] {
            #expect(await eventually { listener.numbers.all == [7] })
            #expect(listener.answers.all == [true])
        }
    }

    @Test("keyed observers are called in their context too, and hear nothing of other keys")
    func keyed() async {
        let numbers = Recorder<Int>()
        let accountant = Accountant(numbers)
        let own = Listener { [thread] in thread.isCurrent }
        thread.add(accountant, keys: ["A", "B"], on: .actor(accountant))
        thread.add(own, key: "C")
        running.run { [thread] in
            for (number, key) in ["A", "C", "B", "A"].enumerated() {
                thread.withObservers(key: key, old: 0, new: number) {
                    (observer: any NumberObserver, change) in
                    observer.hear(change.new)
                }
            }
        }
        #expect(await eventually { numbers.all.count == 3 })
        #expect(numbers.all == [0, 2, 3])
        #expect(own.numbers.all == [1])
    }

    @Test("additions that share a context share one order")
    func sharedContext() async {
        let numbers = Recorder<Int>()
        let accountant = Accountant(numbers)
        let context = ObserverContext.actor(accountant)
        thread.add(accountant, key: "A", on: context)
        thread.add(accountant, key: "B", on: context)
        for number in 0..<100 {
            thread.withObservers(key: number.isMultiple(of: 3) ? "A" : "B") {
                (observer: any NumberObserver) in
                observer.hear(number)
            }
        }
        #expect(await eventually { numbers.all.count == 100 })
        #expect(numbers.all == Array(0..<100))
    }

    @Test("an observer that is busy elsewhere doesn't hold up the thread")
    func slowContext() {
        let gate = DispatchSemaphore(value: 0)
        let queue = DispatchQueue(label: "slow")
        let slow = Listener {
            gate.wait()
            return true
        }
        let own = Listener()
        thread.add(slow, on: .queue(queue))
        thread.add(own)
        running.run { [thread] in
            thread.tell(1)
            thread.tell(2)
        }
        #expect(own.numbers.all == [1, 2])
        #expect(slow.numbers.all.isEmpty)
        gate.signal()
        gate.signal()
        queue.sync {}
        #expect(slow.numbers.all == [1, 2])
    }

    @Test("one that is removed before its turn in its context isn't called")
    func removedBeforeItsTurn() {
        let queue = DispatchQueue(label: "later")
        let listener = Listener()
        thread.add(listener, on: .queue(queue))
        queue.suspend()
        thread.tell(1)
        thread.remove(listener)
        queue.resume()
        queue.sync {}
        #expect(listener.numbers.all.isEmpty)
    }

    @Test("a context doesn't keep an actor alive that observes in itself")
    func actorReleased() {
        weak var remembered: Accountant?
        do {
            let accountant = Accountant(Recorder())
            remembered = accountant
            thread.add(accountant, on: .actor(accountant))
            thread.add(accountant, key: "A", on: .actor(accountant))
        }
        #expect(remembered == nil)
        #expect(thread.observerCount == 0)
        thread.tell(1)
    }
}

@Suite("the life of an observable thread")
struct ThreadLifeTests {
    @Test("work given before the start waits for it, and is done in order")
    func beforeTheStart() throws {
        let thread = ObservableThread()
        let listener = Listener { [weak thread] in thread?.isCurrent == true }
        thread.add(listener)
        thread.tell(1)
        thread.perform { thread.tell(2) }
        #expect(listener.numbers.all.isEmpty)
        try thread.start()
        thread.stop()
        thread.join()
        #expect(listener.numbers.all == [1, 2])
        #expect(listener.answers.all == [true, true])
    }

    @Test("a subclass does its own work, and what is left over is done at the end")
    func ownMain() throws {
        final class Counter: ObservableThread, @unchecked Sendable {
            override func main() {
                for number in 1...3 { tell(number) }
                perform { [self] in tell(5) }
                performPending()
                perform { [self] in tell(6) }
            }
        }
        let counter = Counter()
        let listener = Listener()
        counter.add(listener)
        try counter.start()
        counter.join()
        #expect(listener.numbers.all == [1, 2, 3, 5, 6])
    }

    @Test("it runs once, though started again, and can be asked to stop")
    func startedTwice() throws {
        final class Patient: ObservableThread, @unchecked Sendable {
            let starts = Atomic(0)
            override func main() {
                starts.add(1, ordering: .relaxed)
                while !isStopped { performUntilStopped() }
            }
        }
        let patient = Patient()
        try patient.start()
        try patient.start()
        #expect(!patient.isStopped)
        patient.stop()
        patient.join()
        try patient.start()
        patient.join()
        #expect(patient.isStopped)
        #expect(patient.starts.load(ordering: .relaxed) == 1)
    }

    @Test("a thread that has ended takes no more work, and its observers in contexts still hear")
    func afterTheEnd() throws {
        let thread = ObservableThread()
        let queue = DispatchQueue(label: "observers")
        let own = Listener()
        let queued = Listener()
        thread.add(own)
        thread.add(queued, on: .queue(queue))
        try thread.start()
        thread.stop()
        thread.join()
        #expect(!thread.perform {})
        thread.tell(1)
        queue.sync {}
        #expect(own.numbers.all.isEmpty)
        #expect(queued.numbers.all == [1])
    }

    @Test("it may be joined from itself, and before the start")
    func joinedFromItself() throws {
        let thread = ObservableThread()
        thread.join()
        let done = DispatchSemaphore(value: 0)
        try thread.start()
        thread.perform {
            thread.join()
            done.signal()
        }
        done.wait()
        thread.stop()
        thread.join()
    }

    @Test("it is kept alive while it runs, and released at its end")
    func released() async throws {
        final class Counted: ObservableThread, @unchecked Sendable {
            let citizen: Census.Citizen
            init(_ census: Census) { citizen = census.citizen() }
        }
        let census = Census()
        let stop: @Sendable () -> Void
        do {
            let thread = Counted(census)
            try thread.start()
            stop = { [weak thread] in thread?.stop() }
        }
        #expect(census.living == 1)
        stop()
        #expect(await eventually { census.living == 0 })
    }
}
