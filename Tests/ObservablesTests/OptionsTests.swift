// Observers with options: phases, conditions, pauses, and what folds meanwhile.

import Dispatch
import Synchronization
import Testing

@testable import Observables

@Suite("observers with options")
struct OptionsTests {
    @Test("lower phases come first, and within a phase those that were added first")
    func phases() {
        let value = ObservableValue(0)
        let heard = Recorder<String>()
        var bag = DisposeBag()
        for (name, phase) in [("a", 5), ("b", 9), ("c", 0), ("d", 5), ("e", -3), ("f", 12), ("g", 4)] {
            value.observe(options: ObserverOptions(phase: phase)) { _ in heard.record(name) }.add(to: &bag)
        }
        value.observe { _ in heard.record("plain") }.add(to: &bag)
        value.value = 1
        #expect(heard.all == ["c", "e", "g", "a", "d", "plain", "b", "f"])
    }

    @Test("with phases, everyone hears of a change before anyone hears of the next")
    func strictOrder() {
        let events = Notifier<Int>()
        let heard = Recorder<String>()
        var bag = DisposeBag()
        events.observe { heard.record("late \($0)") }.add(to: &bag)
        events.observe(options: ObserverOptions(phase: 1)) { [weak events] number in
            heard.record("early \(number)")
            if number < 3 { events?.send(number + 1) }
        }.add(to: &bag)
        events.send(1)
        #expect(heard.all == ["early 1", "late 1", "early 2", "late 2", "early 3", "late 3"])
    }

    @Test("a phase that begins within a notification leaves out and repeats nothing")
    func phaseWithin() {
        let value = ObservableValue(0)
        let heard = Recorder<String>()
        let late = Mutex<Disposable?>(nil)
        var bag = DisposeBag()
        value.observe { [weak value] change in
            heard.record("a \(change.new)")
            guard change.new == 1, let value else { return }
            let added = value.observe(options: ObserverOptions(phase: 0)) { heard.record("new \($0.new)") }
            late.withLock { $0 = added }
            value.value = 2
        }.add(to: &bag)
        value.observe { heard.record("b \($0.new)") }.add(to: &bag)
        value.value = 1
        value.value = 3
        #expect(heard.all == ["a 1", "b 1", "new 2", "a 2", "b 2", "new 3", "a 3", "b 3"])
    }

    @Test("observers in phases may end themselves and others within a notification")
    func disposalWithin() {
        let value = ObservableValue(0)
        let heard = Recorder<String>()
        let own = Mutex<Disposable?>(nil)
        let other = Mutex<Disposable?>(nil)
        let first = value.observe(options: ObserverOptions(phase: 0)) { change in
            heard.record("first \(change.new)")
            own.withLock { $0 }?.dispose()
            other.withLock { $0 }?.dispose()
        }
        own.withLock { $0 = first }
        let second = value.observe { heard.record("second \($0.new)") }
        other.withLock { $0 = second }
        value.value = 1
        value.value = 2
        #expect(heard.all == ["first 1"])
        #expect(value.observerCount == 0)
    }

    @Test("with phases, several threads give each observer an unbroken chain")
    func threads() {
        let value = ObservableValue(0)
        let chains = [Recorder<Change<Int>>(), Recorder<Change<Int>>()]
        let first = value.observe(options: ObserverOptions(phase: 1)) { chains[0].record($0) }
        let second = value.observe(options: ObserverOptions(phase: 2)) { chains[1].record($0) }
        onThreads(4) { _ in
            for _ in 0..<200 { value.update { $0 += 1 } }
        }
        for chain in chains {
            #expect(chain.all.map(\.new) == Array(1...800))
            #expect(chain.all.map(\.old) == Array(0...799))
        }
        first.dispose()
        second.dispose()
    }

    @Test("a condition leaves changes out, and the chain stays unbroken")
    func conditions() {
        let value = ObservableValue(0)
        let heard = Recorder<Change<Int>>()
        let observation = value.observe(where: { $0 % 2 == 0 }) { heard.record($0) }
        for number in 1...5 { value.value = number }
        #expect(heard.all == [Change(old: 0, new: 2), Change(old: 2, new: 4)])
        observation.dispose()
        value.value = 6
        #expect(heard.all.count == 2)
    }

    @Test("a condition holds for the initial value, for parts and for events, too")
    func otherConditions() {
        let text = ObservableValue("Ada")
        let heard = Recorder<String>()
        var bag = DisposeBag()
        text.observe(initial: true, where: { $0.isEmpty }) { _ in heard.record("empty") }.add(to: &bag)
        text.observe(initial: true, where: { !$0.isEmpty }) { heard.record($0.new) }.add(to: &bag)
        text.observe(\.count, where: { $0 > 3 }) { heard.record("\($0.old ?? -1) to \($0.new)") }
            .add(to: &bag)
        text.value = "Eve"
        text.value = "Grace"
        text.value = ""
        let events = Notifier<Int>()
        events.observe(initial: 1, where: { $0 > 1 }) { heard.record("\($0)") }.add(to: &bag)
        events.send(2)
        #expect(heard.all == ["Ada", "Eve", "Grace", "3 to 5", "empty", "2"])
    }

    @Test("a pause holds changes back, folded, and a step lets them through")
    func pause() {
        let (value, control) = (ObservableValue(0), ObserverControl())
        let heard = Recorder<Change<Int>>()
        let observation = value.observe(options: ObserverOptions(control: control)) { heard.record($0) }
        value.value = 1
        #expect(control.pause() == 0)
        (value.value, value.value) = (2, 3)
        #expect(control.owed == 1 && control.isPaused)
        #expect(heard.all == [Change(old: 0, new: 1)])
        #expect(control.step() == 1)
        #expect(heard.all.last == Change(old: 1, new: 3))
        value.value = 4
        #expect(control.step(0) == 1 && control.step(-1) == 1 && heard.all.count == 2)
        #expect(control.resume() == 1)
        value.value = 5
        #expect(heard.all.suffix(2) == [Change(old: 3, new: 4), Change(old: 4, new: 5)])
        #expect(control.step() == 0 && control.resume() == 0)
        observation.dispose()
    }

    @Test("steps let through those that wait, and none that come later")
    func steps() {
        let (events, control) = (Notifier<Int>(), ObserverControl())
        let heard = Recorder<Int>()
        let observation = events.observe(options: ObserverOptions(control: control)) { heard.record($0) }
        control.pause()
        for number in 1...3 { events.send(number) }
        control.step(2)
        #expect(heard.all == [1, 2])
        control.step(7)
        events.send(4)
        #expect(heard.all == [1, 2, 3] && control.owed == 1)
        control.resume()
        #expect(heard.all == [1, 2, 3, 4])
        observation.dispose()
    }

    @Test("an observer that is added during a pause begins paused, and one that ends is owed nothing")
    func addedPaused() {
        let (value, control) = (ObservableValue(0), ObserverControl())
        let heard = Recorder<Int>()
        let options = ObserverOptions(control: control)
        control.pause()
        let observation = value.observe(initial: true, options: options) { heard.record($0.new) }
        let other = value.observe(options: options) { heard.record(-$0.new) }
        value.value = 1
        #expect(heard.all == [] && control.owed == 2)
        other.dispose()
        #expect(control.owed == 1)
        control.resume()
        #expect(heard.all == [1])
        observation.dispose()
    }

    @Test("an observer may pause, step and resume itself")
    func pauseWithin() {
        let (events, control) = (Notifier<Int>(), ObserverControl())
        let heard = Recorder<Int>()
        let observation = events.observe(options: ObserverOptions(control: control)) { number in
            heard.record(number)
            if number == 1 { control.pause() }
            if number == 2 { control.resume() }
        }
        for number in 1...3 { events.send(number) }
        #expect(heard.all == [1])
        control.step()
        #expect(heard.all == [1, 2, 3])
        observation.dispose()
    }

    @Test("what folds to no change of a part isn't told")
    func foldedAway() {
        let (text, control) = (ObservableValue("Ada"), ObserverControl())
        let heard = Recorder<Change<Int>>()
        let observation = text.observe(\.count, options: ObserverOptions(control: control)) {
            heard.record($0)
        }
        control.pause()
        for name in ["Grace", "Barbara", "Eve"] { text.value = name }
        control.resume()
        #expect(heard.all == [])
        text.value = "Grace"
        #expect(heard.all == [Change(old: 3, new: 5)])
        observation.dispose()
    }

    @Test("if the newest value doesn't meet the condition, nothing is left of a pause")
    func foldedOut() {
        let (value, control) = (ObservableValue(0), ObserverControl())
        let heard = Recorder<Change<Int>>()
        let options = ObserverOptions(control: control)
        let observation = value.observe(options: options, where: { $0 > 0 }) { heard.record($0) }
        control.pause()
        (value.value, value.value) = (1, -1)
        #expect(control.resume() == 0)
        value.value = 2
        #expect(heard.all == [Change(old: 0, new: 2)])
        observation.dispose()
    }

    @Test("with delivery .all nothing folds, as long as there is room", arguments: [(3, 0), (4, 1), (6, 3)])
    func all(sent: Int, lagged: Int) {
        let (value, control) = (ObservableValue(0), ObserverControl())
        let heard = Recorder<Change<Int>>()
        let options = ObserverOptions(delivery: .all, control: control, waitingMax: 3)
        let observation = value.observe(options: options) { heard.record($0) }
        control.pause()
        for number in 1...sent { value.value = number }
        #expect(control.owed == 3 && control.lagged == lagged)
        control.resume()
        #expect(heard.all.map(\.new) == [1, 2, sent])
        #expect(heard.all.map(\.old) == [0, 1, 2])
        observation.dispose()
    }

    @Test("events for which there is no room are dropped and counted")
    func lagging() {
        let (events, control) = (Notifier<Int>(), ObserverControl())
        let heard = Recorder<Int>()
        let options = ObserverOptions(control: control, waitingMax: 2)
        let observation = events.observe(options: options) { heard.record($0) }
        control.pause()
        for number in 1...2 { events.send(number) }
        #expect(control.lagged == 0)
        events.send(3)
        #expect(control.lagged == 1)
        control.resume()
        #expect(heard.all == [1, 2])
        observation.dispose()
    }

    @Test("a control forgets observers that have ended")
    func members() {
        let (value, control) = (ObservableValue(0), ObserverControl())
        for _ in 0..<1_000 {
            value.observe(options: ObserverOptions(control: control)) { _ in }.dispose()
        }
        #expect(control.memberCount <= 16)
    }

    @Test("the objects of a paused observer and what it is owed are released with it")
    func released() {
        let (census, control) = (Census(), ObserverControl())
        let value = ObservableValue(census.citizen())
        let options = ObserverOptions(delivery: .all, control: control)
        let observation = value.observe(options: options) { [citizen = census.citizen()] _ in _ = citizen }
        control.pause()
        for _ in 0..<5 { value.value = census.citizen() }
        #expect(census.living == 7)
        observation.dispose()
        #expect(census.living == 1)
    }

    @Test("threads that change, pause and resume lose nothing and repeat nothing")
    func stress() {
        let (value, control) = (ObservableValue(0), ObserverControl())
        let heard = Recorder<Change<Int>>()
        let observation = value.observe(options: ObserverOptions(control: control)) { heard.record($0) }
        onThreads(4) { thread in
            for _ in 0..<500 {
                switch thread {
                case 0: control.pause()
                case 1: control.resume()
                default: value.update { $0 += 1 }
                }
            }
        }
        control.resume()
        #expect(heard.all.last?.new == 1_000)
        #expect(heard.all.dropFirst().map(\.old) == heard.all.dropLast().map(\.new))
        observation.dispose()
    }
}
