// A source of events: what its observers get, and how it stops.

import Observables
import Testing

private enum PersonProperty: Sendable { case name, age }

@Suite("a notifier")
struct NotifierTests {
    private let changes = Notifier<PersonProperty>()
    private let heard = Recorder<PersonProperty>()

    @Test("every observer hears what happened, in order")
    func send() {
        let other = Recorder<PersonProperty>()
        var bag = DisposeBag()
        changes.observe { heard.record($0) }.add(to: &bag)
        changes.observe { other.record($0) }.add(to: &bag)
        changes.send(.age)
        changes.send(.name)
        changes.send(.name)
        bag.dispose()
        changes.send(.age)
        #expect(heard.all == [.age, .name, .name])
        #expect(other.all == heard.all)
        #expect(changes.observerCount == 0)
    }

    @Test("an observer can be called with an initial event before observe returns")
    func initial() {
        let observation = changes.observe(initial: .name) { heard.record($0) }
        #expect(heard.all == [.name])
        changes.send(.age)
        observation.dispose()
        #expect(heard.all == [.name, .age])
    }

    @Test("an initial event is for that observer alone")
    func initialForOne() {
        let first = changes.observe { heard.record($0) }
        let second = changes.observe(initial: .name) { _ in }
        #expect(heard.all.isEmpty)
        first.dispose()
        second.dispose()
    }

    @Test("finishing stops it for good, and lets go of its observers")
    func finish() {
        let census = Census()
        let observation = changes.observe { [heard, citizen = census.citizen()] event in
            heard.record(event)
            withExtendedLifetime(citizen) {}
        }
        changes.send(.age)
        #expect(!changes.isFinished)
        changes.finish()
        #expect(changes.isFinished)
        #expect(census.living == 0)
        changes.send(.name)
        let late = changes.observe(initial: .name) { heard.record($0) }
        changes.send(.name)
        #expect(heard.all == [.age])
        #expect(changes.observerCount == 0)
        observation.dispose()
        late.dispose()
        #expect(changes.observerCount == 0)
    }

    @Test("what was sent before the end is still heard, also when both happen within a notification")
    func finishWithin() {
        let last = Recorder<PersonProperty>()
        var bag = DisposeBag()
        changes.observe { [changes, heard] event in
            heard.record(event)
            guard event == .name else { return }
            changes.send(.age)
            changes.finish()
            changes.send(.name)
        }.add(to: &bag)
        changes.observe { last.record($0) }.add(to: &bag)
        changes.send(.name)
        bag.dispose()
        #expect(heard.all == [.name, .age])
        #expect(last.all == [.name, .age])
    }

    @Test("an observer may send again: all hear the events in one order")
    func sendWithin() {
        let after = Recorder<PersonProperty>()
        var bag = DisposeBag()
        changes.observe { [changes, heard] event in
            heard.record(event)
            if event == .name { changes.send(.age) }
        }.add(to: &bag)
        changes.observe { after.record($0) }.add(to: &bag)
        changes.send(.name)
        bag.dispose()
        #expect(heard.all == [.name, .age])
        #expect(after.all == [.name, .age])
    }

    @Test("its events are a sequence that keeps all of them and ends with it")
    func events() async {
        let events = changes.events()
        for event in [PersonProperty.age, .name, .name] { changes.send(event) }
        changes.finish()
        changes.send(.age)
        var read: [PersonProperty] = []
        for await event in events { read.append(event) }
        #expect(read == [.age, .name, .name])
    }

    @Test("a sequence begun after the end is empty")
    func eventsAfterEnd() async {
        changes.finish()
        var events = changes.events().makeAsyncIterator()
        #expect(await events.next() == nil)
    }

    @Test("leaving the loop removes its observer")
    func leaving() async {
        let sender = Task { [changes] in
            while changes.observerCount == 0 { await Task.yield() }
            changes.send(.age)
        }
        for await _ in changes.events() { break }
        await sender.value
        #expect(changes.observerCount == 0)
    }
}
