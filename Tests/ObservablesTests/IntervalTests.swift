// A minimum interval between calls, with a clock of the tests; and contexts that fold what they can't take
// yet.

import Synchronization
import Testing

@testable import Observables

/// A clock that a test moves.
private final class HandClock: Sendable {
    private typealias Alarm = (time: ContinuousClock.Instant, ring: @Sendable () -> Void)
    private let state = Mutex((now: ContinuousClock.now, alarms: [Alarm]()))

    var clock: ObserverClock {
        ObserverClock {
            self.state.withLock { $0.now }
        } after: { duration, ring in
            self.state.withLock { $0.alarms.append(($0.now + duration, ring)) }
        }
    }

    var alarmCount: Int { state.withLock { $0.alarms.count } }

    func move(_ duration: Duration) {
        let due = state.withLock { state in
            state.now += duration
            let due = state.alarms.filter { $0.time <= state.now }
            state.alarms.removeAll { $0.time <= state.now }
            return due
        }
        for alarm in due { alarm.ring() }
    }
}

@Suite("observers that are told less often")
struct IntervalTests {
    private let hand = HandClock()
    private let heard = Recorder<Change<Int>>()

    private func gate(
        _ options: ObserverOptions, where condition: (@Sendable (Int) -> Bool)? = nil
    ) -> ObserverGate<Change<Int>> {
        ObserverGate(options, Change.rules(where: condition), clock: hand.clock) { [heard] in heard.record($0)
        }
    }

    private func change(_ gate: ObserverGate<Change<Int>>, _ numbers: ClosedRange<Int>) {
        for number in numbers { gate.take(Change(old: number - 1, new: number)) }
    }

    @Test("the first change comes at once, and those within the interval come folded at its end")
    func every() {
        let gate = gate(ObserverOptions(every: .seconds(1)))
        change(gate, 1...3)
        #expect(heard.all == [Change(old: 0, new: 1)])
        #expect(hand.alarmCount == 1)
        hand.move(.milliseconds(999))
        #expect(heard.all.count == 1)
        hand.move(.milliseconds(1))
        #expect(heard.all == [Change(old: 0, new: 1), Change(old: 1, new: 3)])
        hand.move(.seconds(5))
        change(gate, 4...4)
        #expect(heard.all.map(\.new) == [1, 3, 4])
    }

    @Test("with delivery .all, what has waited comes together")
    func all() {
        let gate = gate(ObserverOptions(every: .seconds(1), delivery: .all))
        change(gate, 1...4)
        #expect(heard.all.map(\.new) == [1])
        hand.move(.seconds(1))
        #expect(heard.all.map(\.new) == [1, 2, 3, 4])
        change(gate, 5...5)
        #expect(heard.all.count == 4)
    }

    @Test("a pause outlasts the interval, and its end doesn't wait for it")
    func pause() {
        let control = ObserverControl()
        let gate = gate(ObserverOptions(every: .seconds(1), control: control))
        change(gate, 1...1)
        control.pause()
        change(gate, 2...3)
        hand.move(.seconds(10))
        #expect(heard.all.map(\.new) == [1])
        control.resume()
        #expect(heard.all.map(\.new) == [1, 3])
        control.pause()
        change(gate, 4...4)
        control.resume()
        #expect(heard.all.map(\.new) == [1, 3, 4])
    }

    @Test("a change that is left out or that came too late sets no timer")
    func timers() {
        let gate = gate(ObserverOptions(every: .seconds(1)), where: { $0 < 2 })
        change(gate, 1...3)
        #expect(hand.alarmCount == 0)
        gate.take(Change(old: 3, new: 0))
        #expect(hand.alarmCount == 1)
        gate.close()
        hand.move(.seconds(1))
        #expect(heard.all.map(\.new) == [1])
    }

    @Test("the last change comes even if nobody keeps the gate meanwhile")
    func lastOne() {
        do {
            let gate = gate(ObserverOptions(every: .seconds(1)))
            change(gate, 1...3)
        }
        hand.move(.seconds(1))
        #expect(heard.all.map(\.new) == [1, 3])
    }

    @Test("intervals of zero and less are none, and long ones count as a day")
    func limits() {
        for every in [Duration.zero, .seconds(-1)] {
            #expect(ObserverOptions(every: every).interval == nil)
        }
        #expect(ObserverOptions(every: .seconds(86_400)).interval == .seconds(86_400))
        #expect(ObserverOptions(every: .seconds(Int64.max)).interval == .seconds(86_400))
    }

    @Test("in real time the last value always comes", .timeLimit(.minutes(20)))
    func real() async {
        let value = ObservableValue(0)
        let options = ObserverOptions(every: .milliseconds(2))
        let observation = value.observe(options: options) { [heard] in heard.record($0) }
        let start = ContinuousClock.now
        for number in 1...2_000 { value.value = number }
        let isDone = await eventually { [heard] in heard.all.last?.new == 2_000 }
        #expect(isDone)
        let most = (ContinuousClock.now - start) / .milliseconds(2) + 2
        #expect(Double(heard.all.count) <= most)
        #expect(heard.all.dropFirst().map(\.old) == heard.all.dropLast().map(\.new))
        observation.dispose()
    }

    @Test("a context that is busy folds, and a pause on the main actor holds", .timeLimit(.minutes(20)))
    @MainActor func contexts() async {
        let (value, control) = (ObservableValue(0), ObserverControl())
        let last = ObservableValue(0)
        let options = ObserverOptions(control: control)
        let observation = value.observe(on: .mainActor, options: options) { [heard] change in
            heard.record(change)
            last.value = change.new
        }
        for number in 1...100 { value.value = number }
        while last.value < 100 { await Task.yield() }
        #expect(heard.all == [Change(old: 0, new: 100)])
        value.value = 101
        control.pause()
        for _ in 0..<20 { await Task.yield() }
        #expect(heard.all.count == 1)
        control.resume()
        while last.value < 101 { await Task.yield() }
        observation.dispose()
    }

    @Test("a context gets all changes in order if that is asked for", .timeLimit(.minutes(20)))
    func contextAll() async {
        let value = ObservableValue(0)
        let options = ObserverOptions(delivery: .all)
        let observation = value.observe(on: .mainActor, options: options) { [heard] in heard.record($0) }
        let parts = value.observe(\.self, on: .mainActor, options: options, where: { $0 > 99 }) {
            [heard] in heard.record($0)
        }
        for number in 1...100 { value.value = number }
        let isDone = await eventually { [heard] in heard.all.count == 101 }
        #expect(isDone)
        #expect(heard.all.map(\.new).filter { $0 < 100 } == Array(1...99))
        observation.dispose()
        parts.dispose()
    }
}
