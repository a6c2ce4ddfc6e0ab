// A value that can be observed: what its observers get, and in which order.

import Observables
import Testing

private struct Profile: Sendable, Equatable {
    var name: String
    var postCount = 0
}

@Suite("an observable value")
struct ObservableValueTests {
    private let number = ObservableValue(1)
    private let heard = Recorder<Change<Int>>()

    @Test("an observer gets old and new value together")
    func oldAndNew() {
        let observation = number.observe { heard.record($0) }
        number.update(2)
        number.value = 3
        observation.dispose()
        #expect(heard.all == [Change(old: 1, new: 2), Change(old: 2, new: 3)])
    }

    @Test("an observer that asks for it gets the current value before observe returns")
    func initialValue() {
        let observation = number.observe(initial: true) { heard.record($0) }
        #expect(heard.all == [Change(old: nil, new: 1)])
        number.update(2)
        observation.dispose()
        #expect(heard.all == [Change(old: nil, new: 1), Change(old: 1, new: 2)])
    }

    @Test("an observer that doesn't ask for it hears nothing until there is a change")
    func noInitialValue() {
        let observation = number.observe { heard.record($0) }
        #expect(heard.all.isEmpty)
        observation.dispose()
    }

    @Test("setting an equal value notifies as well")
    func equalValue() {
        let observation = number.observe { heard.record($0) }
        number.update(1)
        observation.dispose()
        #expect(heard.all == [Change(old: 1, new: 1)])
    }

    @Test("changing a part in place notifies with the whole before and after")
    func partInPlace() {
        let profile = ObservableValue(Profile(name: "Ada"))
        let heard = Recorder<Change<Profile>>()
        let observation = profile.observe { heard.record($0) }
        profile.value.postCount += 1
        observation.dispose()
        #expect(heard.all == [Change(old: Profile(name: "Ada"), new: Profile(name: "Ada", postCount: 1))])
        #expect(profile.value.postCount == 1)
    }

    @Test("an observer of a part is called only when that part changed")
    func keyPath() {
        let profile = ObservableValue(Profile(name: "Ada"))
        let observation = profile.observe(\.postCount) { heard.record($0) }
        profile.value.name = "Grace"
        profile.update(Profile(name: "Barbara"))
        #expect(heard.all.isEmpty)
        profile.value.postCount += 1
        profile.value.postCount = 1
        observation.dispose()
        #expect(heard.all == [Change(old: 0, new: 1)])
    }

    @Test("an observer of a part can ask for its current value")
    func keyPathInitial() {
        let profile = ObservableValue(Profile(name: "Ada", postCount: 7))
        let observation = profile.observe(\.postCount, initial: true) { heard.record($0) }
        observation.dispose()
        #expect(heard.all == [Change(old: nil, new: 7)])
    }

    @Test("an observer of an optional part hears that it is nil at first")
    func optionalPart() {
        let text = ObservableValue<String?>(nil)
        let heard = Recorder<Change<String?>>()
        let observation = text.observe(\.self, initial: true) { heard.record($0) }
        text.value = nil
        text.value = "now"
        observation.dispose()
        #expect(heard.all.map(\.new) == [nil, "now"])
    }

    @Test("an update returns what its closure returns")
    func updateResult() {
        let list = ObservableValue(["a", "b"])
        let last = list.update { $0.removeLast() }
        #expect(last == "b")
        #expect(list.value == ["a"])
    }

    @Test("an update that throws changes nothing and notifies no one")
    func updateThrows() {
        struct Refusal: Error {}
        let observation = number.observe { heard.record($0) }
        #expect(throws: Refusal.self) {
            try number.update {
                $0 = 9
                throw Refusal()
            }
        }
        observation.dispose()
        #expect(number.value == 1)
        #expect(heard.all.isEmpty)
    }

    @Test("observers hear of a change in the order in which they came")
    func registrationOrder() {
        let order = Recorder<String>()
        let first = number.observe { _ in order.record("first") }
        let second = number.observe { _ in order.record("second") }
        number.update(2)
        first.dispose()
        second.dispose()
        #expect(order.all == ["first", "second"])
    }

    @Test("code written against the verbs works with any observable of that value")
    func throughTheProtocol() {
        func increment(_ counter: some ValueObservable<Int>, _ heard: Recorder<Change<Int>>) -> Disposable {
            let observation = counter.observe { heard.record($0) }
            counter.value += 1
            counter.update { $0 += 1 }
            counter.update(counter.value + 1)
            return observation
        }
        increment(number, heard).dispose()
        #expect(heard.all.map(\.new) == [2, 3, 4])
    }
}
