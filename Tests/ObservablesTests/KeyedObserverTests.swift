// Observation by key: what holds for all three kinds of observable.

import Observables
import Testing

private enum Part: Hashable, Sendable { case front, back }

@Suite("observers of keys")
struct KeyedObserverTests {
    private let heard = Recorder<String>()

    @Test("an observer of A hears nothing of C", arguments: Subject.Kind.allCases)
    func onlyItsKey(kind: Subject.Kind) {
        let subject = Subject(kind)
        let painter = Painter("a", heard)
        subject.add([painter], ["A"])
        subject.run { subject.say("C", "1") }
        #expect(heard.all.isEmpty)
        subject.run { subject.say("A", "2") }
        #expect(heard.all == ["a 2"])
    }

    @Test("key or keys by observer or observers, added and removed", arguments: Subject.Kind.allCases)
    func everyCombination(kind: Subject.Kind) {
        let subject = Subject(kind)
        let a = Painter("a", heard)
        let b = Painter("b", heard)
        subject.add([a], ["A"])
        #expect(counts(subject) == [1, 0, 0])
        subject.add([a, b], ["B"])
        #expect(counts(subject) == [1, 2, 0])
        subject.add([b], ["A", "C"])
        #expect(counts(subject) == [2, 2, 1])
        subject.add([a, b], ["A", "B", "C"])
        #expect(counts(subject) == [2, 2, 2])
        subject.remove([a, b], ["A", "B"])
        #expect(counts(subject) == [0, 0, 2])
        subject.remove([a], ["C"])
        #expect(counts(subject) == [0, 0, 1])
        subject.run { subject.say("C", "1") }
        #expect(heard.all == ["b 1"])
        subject.remove([b], ["A", "C"])
        #expect(counts(subject) == [0, 0, 0])
    }

    @Test("a notification carries key, old and new value", arguments: Subject.Kind.allCases)
    func change(kind: Subject.Kind) {
        let subject = Subject(kind)
        let painter = Painter("a", heard)
        let changes = Recorder<KeyedChange<String, Int>>()
        subject.add([painter], ["A"])
        subject.run {
            subject.sayChange("A", 1, 2, changes)
            subject.sayChange("C", 3, 4, changes)
        }
        #expect(changes.all == [KeyedChange(key: "A", old: 1, new: 2)])
        withExtendedLifetime(painter) {}
    }

    @Test(
        "keys may be of different types, and equal values of different types differ",
        arguments: Subject.Kind.allCases
    )
    func keysOfAnyType(kind: Subject.Kind) {
        let subject = Subject(kind)
        let keys: [Subject.Key] = ["1", 1, 1.0, UInt8(1), Part.front, Part.back, [1]]
        let painters = keys.indices.map { Painter("\($0)", heard) }
        for (painter, key) in zip(painters, keys) { subject.add([painter], [key]) }
        for key in keys { subject.run { subject.say(key, "x") } }
        #expect(heard.all == keys.indices.map { "\($0) x" })
    }

    @Test("an addition to a key without observers takes effect", arguments: Subject.Kind.allCases)
    func keyWithoutObservers(kind: Subject.Kind) {
        let subject = Subject(kind)
        let painter = Painter("a", heard)
        subject.run { subject.say("A", "0") }
        subject.add([painter], ["A"])
        subject.run { subject.say("A", "1") }
        subject.remove([painter], ["A"])
        subject.run { subject.say("A", "2") }
        subject.add([painter], ["A"])
        subject.run { subject.say("A", "3") }
        do { subject.add([Painter("dead", heard)], ["B"]) }
        subject.run { subject.say("B", "4") }
        subject.add([painter], ["B"])
        subject.run { subject.say("B", "5") }
        #expect(heard.all == ["a 1", "a 3", "a 5"])
    }

    @Test(
        "a keyed observable is an ordinary one too, and the two don't mix", arguments: Subject.Kind.allCases
    )
    func ordinaryToo(kind: Subject.Kind) {
        let subject = Subject(kind)
        let ordinary = Painter("ordinary", heard)
        let keyed = Painter("keyed", heard)
        let both = Painter("both", heard)
        subject.add([ordinary, both], nil)
        subject.add([keyed, both], ["A"])
        subject.run { subject.say(nil, "1") }
        #expect(heard.all == ["ordinary 1", "both 1"])
        subject.run { subject.say("A", "2") }
        #expect(heard.all == ["ordinary 1", "both 1", "keyed 2", "both 2"])
        subject.remove([both], nil)
        #expect([subject.count(nil), subject.count("A")] == [1, 2])
    }

    @Test("a key means the same when its type has been erased")
    func erasedKey() {
        let sheet = KeyedPlainObservable()
        let painter = Painter("a", heard)
        sheet.add(painter, key: AnyHashable("A"))
        sheet.withObservers(key: "A") { (observer: any ColourObserver) in observer.colourChanged(to: "red") }
        #expect(heard.all == ["a red"])
    }

    @Test("each kind is of the ordinary kind's type")
    func inheritance() {
        func isOrdinary(_: PlainObservable, _: ThreadSafeObservable, _: ObservableThread) -> Bool { true }
        #expect(isOrdinary(KeyedPlainObservable(), KeyedThreadSafeObservable(), KeyedObservableThread()))
    }

    @Test("the plain kind can be called in every way")
    func waysOfPlain() {
        let sheet = KeyedPlainObservable()
        callInEveryWay(sheet, Painter("a", heard), Painter("b", heard), "A", 2) {
            sheet.observerCount(key: $0)
        }
        expectOrdinaryCalls(sheet, Painter("a", heard), Painter("b", heard)) { sheet.observerCount }
    }

    @Test("the thread-safe kind can be called in every way")
    func waysOfThreadSafe() {
        let sheet = KeyedThreadSafeObservable()
        callInEveryWay(sheet, Painter("a", heard), Painter("b", heard), "A", 2) {
            sheet.observerCount(key: $0)
        }
        expectOrdinaryCalls(sheet, Painter("a", heard), Painter("b", heard)) { sheet.observerCount }
    }

    @Test("the observable thread can be called in every way")
    func waysOfThread() {
        let thread = KeyedObservableThread()
        callInEveryWay(thread, Painter("a", heard), Painter("b", heard), "A", 2) {
            thread.observerCount(key: $0)
        }
        expectOrdinaryCalls(thread, Painter("a", heard), Painter("b", heard)) { thread.observerCount }
    }

    @Test("the observable thread can be called in every way with a context")
    func waysOfThreadWithContext() {
        let thread = KeyedObservableThread()
        let a = Painter("a", heard)
        let b = Painter("b", heard)
        func counts() -> [Int] {
            [thread.observerCount, thread.observerCount(key: "A"), thread.observerCount(key: 2)]
        }
        thread.add(a, on: .mainActor)
        thread.add([a, b], on: .mainActor)
        #expect(counts() == [2, 0, 0])
        thread.add(a, key: "A", on: .mainActor)
        thread.add([a, b], key: "A", on: .mainActor)
        #expect(counts() == [2, 2, 0])
        thread.add(a, b, keys: ["A", 2], on: .mainActor)
        thread.add([a, b], keys: ["A", 2], on: .mainActor)
        #expect(counts() == [2, 2, 2])
    }

    private func counts(_ subject: Subject) -> [Int] {
        ["A", "B", "C"].map { subject.count($0) }
    }

    private func expectOrdinaryCalls<Kind: Publisher>(
        _ kind: Kind, _ a: Kind.AnyObserver, _ b: Kind.AnyObserver, count: () -> Int
    ) {
        kind.add(a)
        #expect(count() == 1)
        kind.remove(a)
        kind.add(a, b)
        #expect(count() == 2)
        kind.remove(a, b)
        #expect(count() == 0)
    }

    private func callInEveryWay<Kind: KeyedPublisher>(
        _ kind: Kind,
        _ a: Kind.AnyObserver,
        _ b: Kind.AnyObserver,
        _ x: Kind.AnyKey,
        _ y: Kind.AnyKey,
        count: (Kind.AnyKey) -> Int
    ) {
        let ways: [(add: () -> Void, remove: () -> Void, counts: [Int])] = [
            ({ kind.add(a, key: x) }, { kind.remove(a, key: x) }, [1, 0]),
            ({ kind.add(a, b, key: x) }, { kind.remove(a, b, key: x) }, [2, 0]),
            ({ kind.add([a, b], key: x) }, { kind.remove([a, b], key: x) }, [2, 0]),
            ({ kind.add(a, keys: [x, y]) }, { kind.remove(a, keys: [x, y]) }, [1, 1]),
            ({ kind.add(a, b, keys: [x, y]) }, { kind.remove(a, b, keys: [x, y]) }, [2, 2]),
            ({ kind.add([a, b], keys: [x, y]) }, { kind.remove([a, b], keys: [x, y]) }, [2, 2]),
        ]
        for way in ways {
            way.add()
            #expect([count(x), count(y)] == way.counts)
            way.remove()
            #expect([count(x), count(y)] == [0, 0])
        }
    }
}
