// Observers that conform to a protocol and are held weakly: what holds for all three kinds of observable.

import Observables
import Synchronization
import Testing

@Suite("protocol-typed observers")
struct WeakObserverTests {
    private let heard = Recorder<String>()

    @Test(
        "only those that conform are reached, whatever the number of protocols",
        arguments: Subject.Kind.allCases
    )
    func conformance(kind: Subject.Kind) {
        let subject = Subject(kind)
        let painter = Painter("painter", heard)
        let tailor = Tailor(heard)
        subject.add([painter, tailor], nil)
        subject.run { subject.say(nil, "red") }
        #expect(heard.all == ["painter red", "tailor red"])
        subject.run { subject.saySize(42) }
        #expect(heard.all == ["painter red", "tailor red", "tailor 42"])
        withExtendedLifetime((painter, tailor)) {}
    }

    @Test("several are added and removed in one call", arguments: Subject.Kind.allCases)
    func several(kind: Subject.Kind) {
        let subject = Subject(kind)
        let painters = ["a", "b", "c"].map { Painter($0, heard) }
        subject.add(painters, nil)
        subject.run { subject.say(nil, "1") }
        subject.remove([painters[0], painters[2]], nil)
        subject.run { subject.say(nil, "2") }
        subject.remove([painters[1]], nil)
        subject.run { subject.say(nil, "3") }
        #expect(heard.all == ["a 1", "b 1", "c 1", "b 2"])
    }

    @Test(
        "one that is added twice is called once, and gone when removed once", arguments: Subject.Kind.allCases
    )
    func addedTwice(kind: Subject.Kind) {
        let subject = Subject(kind)
        let painter = Painter("a", heard)
        subject.add([painter, painter], nil)
        subject.add([painter], nil)
        subject.run { subject.say(nil, "1") }
        subject.remove([painter], nil)
        subject.run { subject.say(nil, "2") }
        #expect(heard.all == ["a 1"])
    }

    @Test("one that was removed can be added again", arguments: Subject.Kind.allCases)
    func addedAgain(kind: Subject.Kind) {
        let subject = Subject(kind)
        let painters = ["a", "b"].map { Painter($0, heard) }
        subject.add(painters, nil)
        subject.remove([painters[0]], nil)
        subject.add([painters[0]], nil)
        subject.run { subject.say(nil, "1") }
        #expect(heard.all == ["b 1", "a 1"])
    }

    @Test("removing one that was never added does nothing", arguments: Subject.Kind.allCases)
    func removedStranger(kind: Subject.Kind) {
        let subject = Subject(kind)
        let painter = Painter("a", heard)
        subject.add([painter], nil)
        subject.remove([Painter("b", heard)], nil)
        subject.remove([painter], ["key"])
        subject.run { subject.say(nil, "1") }
        #expect(heard.all == ["a 1"])
    }

    @Test("an observable doesn't keep its observers alive", arguments: Subject.Kind.allCases)
    func weaklyHeld(kind: Subject.Kind) {
        let subject = Subject(kind)
        let census = Census()
        do {
            let citizens = (0..<10).map { _ in census.citizen() }
            subject.add(citizens, nil)
            subject.add(citizens, ["a", "b"])
            #expect([subject.count(nil), subject.count("a"), census.living] == [10, 10, 10])
        }
        #expect([subject.count(nil), subject.count("a"), census.living] == [0, 0, 0])
    }

    @Test("the notification that meets dead observers prunes them for good", arguments: Subject.Kind.allCases)
    func pruned(kind: Subject.Kind) {
        let subject = Subject(kind)
        let survivor = Painter("survivor", heard)
        subject.add([survivor], nil)
        do {
            let painters = (0..<20).map { Painter("\($0)", heard) }
            subject.add(painters, nil)
            subject.add(painters, ["key"])
            #expect(subject.kept() == [41, 2])
        }
        subject.run { subject.say(nil, "1") }
        #expect(subject.kept() == [21, 2])
        subject.run { subject.say("key", "2") }
        #expect(subject.kept() == [1, 1])
        #expect(heard.all == ["survivor 1"])
    }

    @Test("dead observers don't pile up where no one is ever notified", arguments: Subject.Kind.allCases)
    func prunedByAdditions(kind: Subject.Kind) {
        let subject = Subject(kind)
        let census = Census()
        var keptMost = 0
        for round in 0..<2000 {
            subject.add([census.citizen()], round.isMultiple(of: 2) ? nil : [round])
            keptMost = max(keptMost, subject.kept()[0])
        }
        #expect(keptMost < 200)
    }

    @Test("one that comes to the address of a dead one is another", arguments: Subject.Kind.allCases)
    func addressReused(kind: Subject.Kind) {
        let subject = Subject(kind)
        for round in 0..<50 {
            let painter = Painter("painter", heard)
            subject.add([painter], nil)
            subject.add([painter], ["key"])
            subject.run { subject.say("key", "\(round)") }
        }
        subject.run { subject.say(nil, "dead") }
        #expect(heard.all == (0..<50).map { "painter \($0)" })
    }

    @Test("removed observers and keys give their places back", arguments: Subject.Kind.allCases)
    func placesGivenBack(kind: Subject.Kind) {
        let subject = Subject(kind)
        let painters = (0..<100).map { Painter("\($0)", heard) }
        subject.add(painters, nil)
        subject.add(painters, ["a", "b"])
        subject.remove(painters, ["a", "b"])
        #expect(subject.kept() == [100, 1])
        subject.remove(Array(painters.dropLast()), nil)
        #expect(subject.kept()[0] <= 2)
        subject.remove(painters, nil)
        #expect(subject.kept() == [0, 0])
    }

    @Test("one may remove itself and others within a notification", arguments: Subject.Kind.allCases)
    func removeWithin(kind: Subject.Kind) {
        let subject = Subject(kind)
        let third = Painter("third", heard)
        let own = Mutex<Painter?>(nil)
        let first = Painter("first", heard) {
            subject.remove([third] + own.withLock { [$0].compactMap { $0 } }, nil)
        }
        own.withLock { $0 = first }
        let second = Painter("second", heard)
        subject.add([first, second, third], nil)
        subject.run { subject.say(nil, "1") }
        #expect(heard.all == ["first 1", "second 1"])
        subject.run { subject.say(nil, "2") }
        #expect(heard.all == ["first 1", "second 1", "second 2"])
        own.withLock { $0 = nil }
    }

    @Test(
        "one that is added within a notification is called from the next on", arguments: Subject.Kind.allCases
    )
    func addWithin(kind: Subject.Kind) {
        let subject = Subject(kind)
        let late = Painter("late", heard)
        let first = Painter("first", heard) { subject.add([late], nil) }
        subject.add([first], nil)
        subject.run { subject.say(nil, "1") }
        #expect(heard.all == ["first 1"])
        subject.run { subject.say(nil, "2") }
        #expect(heard.all == ["first 1", "first 2", "late 2"])
    }

    @Test("an observer may publish again", arguments: Subject.Kind.allCases)
    func publishWithin(kind: Subject.Kind) {
        let subject = Subject(kind)
        let depth = Atomic(0)
        let first = Painter("first", heard) {
            if depth.add(1, ordering: .relaxed).newValue < 3 { subject.say(nil, "again") }
        }
        subject.add([first], nil)
        subject.run { subject.say(nil, "1") }
        #expect(heard.all == ["first 1", "first again", "first again"])
    }

    @Test(
        "one may die within a notification, and use the observable as it does",
        arguments: Subject.Kind.allCases
    )
    func dieWithin(kind: Subject.Kind) {
        final class Mortal: Sendable {
            let goodbye: @Sendable () -> Void
            init(_ goodbye: @escaping @Sendable () -> Void) { self.goodbye = goodbye }
            deinit { goodbye() }
        }
        let subject = Subject(kind)
        let late = Painter("late", heard)
        let mortal = Mutex<Mortal?>(Mortal { subject.add([late], nil) })
        let killer = Painter("killer", heard) { _ = mortal.withLock { $0.take() } }
        subject.add([killer], nil)
        subject.add(mortal.withLock { [$0].compactMap { $0 } }, nil)
        subject.run { subject.say(nil, "1") }
        subject.run { subject.say(nil, "2") }
        #expect(heard.all == ["killer 1", "killer 2", "late 2"])
        #expect(subject.kept() == [2, 1])
    }
}
