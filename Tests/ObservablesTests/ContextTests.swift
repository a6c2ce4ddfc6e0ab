// Contexts for every observable, and observers that conform only on the main actor.

import Dispatch
import Observables
import Testing

private protocol ToneObserver: Observer {
    func hear(_ tone: Int)
}

/// Conforms only on the main actor.
@MainActor private final class Screen: @MainActor ToneObserver {
    let tones: Recorder<Int>

    nonisolated init(_ tones: Recorder<Int>) {
        self.tones = tones
    }

    func hear(_ tone: Int) { tones.record(tone) }
}

/// Records on which queue it is called.
private final class Ear: ToneObserver, Sendable {
    let tones = Recorder<Int>()
    private let queue: DispatchQueue

    init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    func hear(_ tone: Int) {
        dispatchPrecondition(condition: .onQueue(queue))
        tones.record(tone)
    }
}

@globalActor private actor Stage {
    static let shared = Stage()
}

/// Conforms only on an actor that nobody has met.
@Stage private final class Singer: @Stage ToneObserver {
    let tones: Recorder<Int>

    nonisolated init(_ tones: Recorder<Int>) {
        self.tones = tones
    }

    func hear(_ tone: Int) { tones.record(tone) }
}

/// Two more of its kind.
@Stage private final class Dancer: @Stage ToneObserver {
    nonisolated init() {}

    func hear(_ tone: Int) {}
}

@Stage private final class Juggler: @Stage ToneObserver {
    nonisolated init() {}

    func hear(_ tone: Int) {}
}

private protocol LanternObserver: Observer {
    func shine()
}

/// Observers, though not of tones: here, and on the main actor.
private final class Lamp: LanternObserver, Sendable {
    func shine() {}
}

@MainActor private final class Spot: @MainActor LanternObserver {
    nonisolated init() {}

    func shine() {}
}

@MainActor private final class Panel {
    private(set) var texts: [String] = []

    func show(_ text: String) { texts.append(text) }
}

@Suite("contexts for every observable", .timeLimit(.minutes(20)))
struct ContextTests {
    @Test("a closure on the main actor is isolated to it, and hears all changes in order")
    func mainActorClosure() async {
        let number = ObservableValue(0)
        let panel = Panel()
        let observation = number.observe(on: .mainActor, initial: true) { panel.show("\($0.new)") }
        onThreads(1) { _ in for next in 1...3 { number.value = next } }
        while await panel.texts.count < 4 { await Task.yield() }
        #expect(await panel.texts == ["0", "1", "2", "3"])
        observation.dispose()
    }

    @Test("a part and a notifier can be observed on the main actor, too")
    @MainActor func partAndNotifier() async {
        let (text, events, panel) = (ObservableValue("a"), Notifier<String>(), Panel())
        var bag = DisposeBag()
        text.observe(\.count, on: .mainActor) { panel.show("count \($0.new)") }.add(to: &bag)
        events.observe(on: .mainActor, initial: "first") { panel.show($0) }.add(to: &bag)
        text.value = "b"
        text.value = "cc"
        events.send("event")
        while panel.texts.count < 3 { await Task.yield() }
        #expect(panel.texts == ["first", "count 2", "event"])
        bag.dispose()
    }

    @Test("no call begins on the main actor after the handle was disposed of there")
    @MainActor func disposed() async {
        let (number, panel) = (ObservableValue(0), Panel())
        let observation = number.observe(on: .mainActor) { panel.show("\($0.new)") }
        let last = number.observe(on: .mainActor) { panel.show("last \($0.new)") }
        number.value = 1
        observation.dispose()
        while panel.texts.isEmpty { await Task.yield() }
        #expect(panel.texts == ["last 1"])
        last.dispose()
    }

    @Test("closures can be called on a queue")
    func queueClosure() {
        let (number, events, heard) = (ObservableValue(0), Notifier<Int>(), Recorder<Int>())
        let queue = DispatchQueue(label: "observers")
        var bag = DisposeBag()
        number.observe(on: .queue(queue)) { change in
            dispatchPrecondition(condition: .onQueue(queue))
            heard.record(change.new)
        }.add(to: &bag)
        events.observe(on: .queue(queue)) { heard.record($0) }.add(to: &bag)
        number.value = 1
        events.send(2)
        queue.sync {}
        #expect(heard.all == [1, 2])
        bag.dispose()
    }

    @Test("an observer of a thread-safe observable, or of its keys, is called where it chose")
    func threadSafe() {
        let queue = DispatchQueue(label: "observers")
        let (observable, ear) = (KeyedThreadSafeObservable(), Ear(queue))
        observable.add(ear, on: .queue(queue))
        observable.add(ear, key: "A", on: .queue(queue))
        observable.withObservers { (observer: any ToneObserver) in observer.hear(1) }
        observable.withObservers(key: "A") { (observer: any ToneObserver) in observer.hear(2) }
        observable.withObservers(key: "B") { (observer: any ToneObserver) in observer.hear(3) }
        queue.sync {}
        #expect(ear.tones.all == [1, 2])
    }

    @Test("one that conforms only on the main actor and has no context is told there, in order")
    func isolatedConformance() async {
        let observable = ThreadSafeObservable()
        let screen = Screen(Recorder())
        observable.add(screen)
        onThreads(1) { _ in
            for tone in 1...3 {
                observable.withObservers { (observer: any ToneObserver) in observer.hear(tone) }
            }
        }
        #expect(await eventually { screen.tones.all.count == 3 })
        #expect(screen.tones.all == [1, 2, 3])
    }

    @Test("one that conforms only on an unknown actor is reported once, and is told when the actor is known")
    func unknownActor() async {
        let reports = Recorder<String>()
        UnreachedObserver.report(to: { reports.record($0.observer) })
        defer { UnreachedObserver.report(to: nil) }
        let (observable, singer, tones) = (ThreadSafeObservable(), Singer(Recorder()), Recorder<Int>())
        let outcomes = Recorder<[ObserverOutcome]>()
        let tracing = observable.trace { outcomes.record($0.observers.map(\.outcome)) }
        let (lamp, spot) = (Lamp(), Spot())
        observable.add(singer, lamp, spot, isolation: nil)
        observable.withObservers { (observer: any ToneObserver) in observer.hear(1) }
        #expect(await eventually { reports.all.contains { $0.hasSuffix("Singer") } })
        for tone in 2...3 { observable.withObservers { (observer: any ToneObserver) in observer.hear(tone) } }
        #expect(reports.all.filter { $0.hasSuffix("Singer") }.count == 1)
        #expect(!reports.all.contains { $0.hasSuffix(".Lamp") || $0.hasSuffix(".Spot") })
        #expect(outcomes.all.last?.first == .dropped)
        #expect(singer.tones.all.isEmpty)
        // Another one of its class is added on its actor, and then the first is told as well.
        let other = Singer(tones)
        await Task { @Stage in observable.add(other) }.value
        observable.withObservers { (observer: any ToneObserver) in observer.hear(4) }
        #expect(await eventually { tones.all == [4] })
        observable.withObservers { (observer: any ToneObserver) in observer.hear(5) }
        #expect(await eventually { singer.tones.all.last == 5 })
        tracing.dispose()
        // One that is added in a context of another actor, and one in an observable of one thread.
        let (dancer, juggler, plain) = (Dancer(), Juggler(), PlainObservable())
        observable.add(dancer, on: .mainActor)
        observable.add(lamp, on: .mainActor)
        plain.add(juggler, lamp)
        for tone in 6...7 {
            observable.withObservers { (observer: any ToneObserver) in observer.hear(tone) }
            plain.withObservers { (observer: any ToneObserver) in observer.hear(tone) }
        }
        #expect(await eventually { reports.all.contains { $0.hasSuffix("Dancer") } })
        for name in ["Dancer", "Juggler"] {
            #expect(reports.all.filter { $0.hasSuffix(".\(name)") }.count == 1)
        }
        #expect(!reports.all.contains { $0.hasSuffix(".Lamp") || $0.hasSuffix(".Spot") })
        withExtendedLifetime((lamp, spot)) {}
    }

    @Test("the same on a thread of its own")
    func isolatedConformanceOnThread() async {
        let running = RunningThread()
        let screen = Screen(Recorder())
        running.thread.add(screen)
        running.run {
            running.thread.withObservers { (observer: any ToneObserver) in observer.hear(1) }
        }
        #expect(await eventually { screen.tones.all == [1] })
    }
}

@Suite("a thread that sleeps")
struct SleepTests {
    @Test("is woken by a stop, and afterwards sleeps no more")
    func stop() throws {
        final class Sleeper: ObservableThread, @unchecked Sendable {
            let asleep = DispatchSemaphore(value: 0)
            let results = Recorder<Bool>()

            override func main() {
                results.record(sleep(for: .nanoseconds(1)))
                asleep.signal()
                results.record(sleep(for: .seconds(100_000)))
                results.record(sleep(for: .seconds(100_000)))
            }
        }
        let sleeper = Sleeper()
        try sleeper.start()
        sleeper.asleep.wait()
        sleeper.stop()
        sleeper.join()
        #expect(sleeper.results.all == [true, false, false])
    }
}
