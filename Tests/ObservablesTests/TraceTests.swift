// Who was told, and who wasn't: traces of values, notifiers and publishers; and publishers' observers with
// options.

import Dispatch
import Synchronization
import Testing

@testable import Observables

@Suite("traces, and publishers' observers with options")
struct TraceTests {
    @Test("a trace has every observer in order, with what became of the change")
    func values() {
        let (value, control) = (ObservableValue(0), ObserverControl())
        let traces = Recorder<ObserverTrace<Change<Int>>>()
        var bag = DisposeBag()
        value.observe { _ in }.add(to: &bag)
        value.observe(options: ObserverOptions(name: "paused", control: control)) { _ in }.add(to: &bag)
        value.observe(options: ObserverOptions(name: "rare", every: .seconds(9_000))) { _ in }.add(to: &bag)
        value.observe(options: ObserverOptions(name: "odd", phase: 1), where: { $0 % 2 == 1 }) { _ in }
            .add(to: &bag)
        value.trace { traces.record($0) }.add(to: &bag)
        value.value = 1
        control.pause()
        (value.value, value.value) = (2, 3)
        let told = traces.all.map { $0.observers.map { "\($0.name) \($0.phase) \($0.outcome)" } }
        #expect(
            told == [
                ["odd 1 sent", "#1 5 sent", "paused 5 sent", "rare 5 sent"],
                ["odd 1 filtered", "#1 5 sent", "paused 5 paused", "rare 5 queued"],
                ["odd 1 sent", "#1 5 sent", "paused 5 paused", "rare 5 conflated"],
            ]
        )
        #expect(traces.all.map(\.event.old) == [0, 1, 2])
        let observers = traces.all.flatMap(\.observers)
        #expect(observers.filter { $0.microseconds != nil } == observers.filter { $0.outcome == .sent })
    }

    @Test("events are traced that nobody observes, and after the end of the trace none is")
    func alone() {
        let events = Notifier<Int>()
        let traces = Recorder<Int>()
        let tracing = events.trace { traces.record($0.event + $0.observers.count) }
        events.send(1)
        tracing.dispose()
        events.send(2)
        #expect(traces.all == [1])
    }

    @Test("a tracer may change what it traces, and end itself")
    func reentrant() {
        let value = ObservableValue(0)
        let heard = Recorder<String>()
        let tracing = Mutex<Disposable?>(nil)
        let observation = value.observe { heard.record("told \($0.new)") }
        let trace = value.trace { [weak value] trace in
            heard.record("traced \(trace.event.new)")
            if trace.event.new == 2 { tracing.withLock { $0 }?.dispose() }
            if trace.event.new < 3 { value?.value += 1 }
        }
        tracing.withLock { $0 = trace }
        value.value = 1
        #expect(heard.all == ["told 1", "traced 1", "told 2", "traced 2", "told 3"])
        observation.dispose()
    }

    @Test("a trace lists at most 1,000 observers and says that there are more", arguments: [1_000, 1_001])
    func limit(count: Int) {
        let events = Notifier<Int>()
        let traces = Recorder<[Int]>()
        var bag = DisposeBag()
        for _ in 0..<count { events.observe { _ in }.add(to: &bag) }
        events.trace { traces.record([$0.observers.count, $0.hasMore ? 1 : 0]) }.add(to: &bag)
        events.send(1)
        #expect(traces.all == [[1_000, count - 1_000]])
    }

    @Test("a trace of a publisher has the role, the key and the outcomes", .timeLimit(.minutes(20)))
    func publisher() async {
        let (publisher, control) = (KeyedThreadSafeObservable(), ObserverControl())
        let heard = Recorder<String>()
        let traces = Recorder<String>()
        let (red, blue, later) = (Painter("red", heard), Painter("blue", heard), Painter("later", heard))
        publisher.add(red, keys: ["wall"], options: ObserverOptions(name: "red", control: control))
        publisher.add(blue, keys: ["wall"], options: ObserverOptions(phase: 1))
        publisher.add(later, keys: ["wall"], on: .mainActor, options: ObserverOptions(phase: 2))
        let tracing = publisher.trace { trace in
            let observers = trace.observers.map { "\($0.name) \($0.phase) \($0.outcome)" }
            traces.record("\(trace.event.role) \(trace.event.key ?? "-") \(observers)")
        }
        control.pause()
        publisher.withObservers(key: "wall") { (observer: any ColourObserver) in
            observer.colourChanged(to: "green")
        }
        publisher.withObservers { (observer: any SizeObserver) in observer.sizeChanged(to: 1) }
        #expect(
            traces.all == [
                #"ColourObserver wall ["Painter 1 sent", "Painter 2 queued", "red 5 paused"]"#,
                "SizeObserver - []",
            ]
        )
        #expect(await eventually { heard.all.contains("later green") })
        #expect(control.owed == 1 && heard.all.sorted() == ["blue green", "later green"])
        control.resume()
        #expect(heard.all.last == "red green")
        tracing.dispose()
    }

    @Test("an observer of a thread that was paused is called on the thread", .timeLimit(.minutes(20)))
    func thread() async throws {
        let (thread, control) = (KeyedObservableThread(), ObserverControl())
        let heard = Recorder<String>()
        let painter = Painter("paul", heard) { [weak thread] in
            heard.record(thread?.isCurrent == true ? "on it" : "elsewhere")
        }
        thread.add(painter, keys: [1], options: ObserverOptions(control: control))
        thread.add(painter, options: ObserverOptions(delivery: .all, control: control))
        try thread.start()
        control.pause()
        thread.withObservers(key: 1) { (observer: any ColourObserver) in observer.colourChanged(to: "red") }
        thread.withObservers { (observer: any ColourObserver) in observer.colourChanged(to: "blue") }
        control.resume()
        #expect(await eventually { heard.all.count == 4 })
        #expect(heard.all == ["paul red", "on it", "paul blue", "on it"])
        thread.stop()
        thread.join()
    }

    @Test("what a removed observer is owed is never told")
    func removed() {
        let (publisher, control) = (ThreadSafeObservable(), ObserverControl())
        let heard = Recorder<String>()
        let painter = Painter("paul", heard)
        publisher.add(painter, options: ObserverOptions(control: control))
        control.pause()
        publisher.withObservers { (observer: any ColourObserver) in observer.colourChanged(to: "red") }
        publisher.remove(painter)
        control.resume()
        #expect(heard.all == [])
    }

    @Test("observers on one thread have phases, with and without keys")
    func plain() {
        let publisher = KeyedPlainObservable()
        let heard = Recorder<String>()
        let painters = ["a", "b", "c"].map { Painter($0, heard) }
        publisher.add(painters[0])
        publisher.add(painters[1], phase: 1)
        publisher.add(painters[2], phase: 9)
        publisher.add(painters[0], keys: [1], phase: 8)
        publisher.add(painters[1], keys: [1], phase: 7)
        publisher.withObservers { (observer: any ColourObserver) in observer.colourChanged(to: "red") }
        publisher.withObservers(key: 1) { (observer: any ColourObserver) in observer.colourChanged(to: "blue")
        }
        #expect(heard.all == ["b red", "a red", "c red", "b blue", "a blue"])
    }
}

/// A role that doesn't refine Sendable, so that a conformance to it may be isolated.
protocol LightObserver: Observer {
    func lightChanged(to colour: String)
}

/// An actor that isn't the main one.
@globalActor actor Studio {
    static let shared = Studio()
}

@Studio final class StudioLamp: @Studio LightObserver {
    nonisolated let heard: Recorder<String>

    init(_ heard: Recorder<String>) { self.heard = heard }

    nonisolated init(elsewhere heard: Recorder<String>) { self.heard = heard }

    @Studio func lightChanged(to colour: String) {
        Studio.shared.assertIsolated()
        heard.record(colour)
    }

    func observe(_ publisher: ThreadSafeObservable) { publisher.add(self) }
    func observe(_ thread: ObservableThread) { thread.add(self) }
}

/// A class of which no observer is ever added on its actor.
@Studio final class LonelyLamp: @Studio LightObserver {
    nonisolated let heard: Recorder<String>

    nonisolated init(_ heard: Recorder<String>) { self.heard = heard }

    @Studio func lightChanged(to colour: String) { heard.record(colour) }
}

@Suite("observers that are isolated to another actor than the main one", .timeLimit(.minutes(20)))
struct OtherActorTests {
    @Test("one that is added on its actor is told there")
    func home() async throws {
        let heard = Recorder<String>()
        let lamp = await StudioLamp(heard)
        let (publisher, thread) = (ThreadSafeObservable(), ObservableThread())
        await lamp.observe(publisher)
        await lamp.observe(thread)
        for colour in ["red", "blue"] {
            publisher.withObservers { (observer: any LightObserver) in observer.lightChanged(to: colour) }
        }
        #expect(await eventually { heard.all == ["red", "blue"] })
        try thread.start()
        thread.withObservers { (observer: any LightObserver) in observer.lightChanged(to: "green") }
        #expect(await eventually { heard.all.last == "green" })
        thread.stop()
        thread.join()
    }

    @Test("one that is added elsewhere is told on its actor, once another of its class was told there")
    func learned() async {
        let (heard, others) = (Recorder<String>(), Recorder<String>())
        let (publisher, other) = (ThreadSafeObservable(), ThreadSafeObservable())
        let first = await StudioLamp(others)
        await first.observe(other)
        other.withObservers { (observer: any LightObserver) in observer.lightChanged(to: "white") }
        #expect(await eventually { others.all == ["white"] })
        let lamp = StudioLamp(elsewhere: heard)
        publisher.add([lamp])
        for number in 1...20 {
            publisher.withObservers { (observer: any LightObserver) in observer.lightChanged(to: "\(number)")
            }
        }
        #expect(await eventually { heard.all == (1...20).map { "\($0)" } })
    }

    @Test("one that is added elsewhere without its context shows as dropped in the trace")
    func elsewhere() async {
        let (heard, outcomes) = (Recorder<String>(), Recorder<ObserverOutcome>())
        let lamp = LonelyLamp(heard)
        let publisher = ThreadSafeObservable()
        publisher.add([lamp])
        let tracing = publisher.trace { outcomes.record($0.observers[0].outcome) }
        #expect(
            await eventually {
                publisher.withObservers { (observer: any LightObserver) in observer.lightChanged(to: "red") }
                return outcomes.all.last == .dropped
            }
        )
        #expect(heard.all == [])
        tracing.dispose()
    }
}
