// Subscriptions that go on where an earlier one, perhaps in a killed process, had got to.

import TestSupport
import Testing

@testable import PlugboardClient

@Suite("places", .someAtATime)
struct PlaceTests {
    private static let all = SubscribeOptions(delivery: .all)

    private static func words(_ event: Event) -> String { "\(event.kind) \(event.key) \(event.revision)" }

    /// The events of a new subscription up to a key, without that one.
    private func events(_ bus: Bus, _ options: SubscribeOptions, until key: String) async throws -> [Event] {
        var events: [Event] = []
        for try await event in try await bus.subscribe("**", options: options) {
            if event.key == key { break }
            events.append(event)
        }
        return events
    }

    /// Writes of all kinds, with batches, and at last `end`.
    private func write(_ bus: Bus) async throws {
        try await bus.publish("a", 1)
        try await bus.batch([.publish("a", 2), .publish("b", 2), .emit("e", 1), .publish("c", 2)])
        try await bus.emit("e", 2)
        try await bus.delete("b")
        try await bus.batch([.publish("b", 3), .delete("c"), .publish("a", 3)])
        try await bus.publish("a", 4)
        try await bus.publish("end", true)
    }

    @Test("from the place of any event, exactly what came after it comes, except emits")
    func everyPlace() async throws {
        let broker = try await TestBroker(isKept: true)
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        try await writer.publish("a", 0)
        let heard = Task { try await events(bus, Self.all, until: "end") }
        try await eventually("it listens") { try await !writer.who("a").observers.isEmpty }
        try await write(writer)
        let all = try await heard.value
        let start = try #require(all.firstIndex { $0.kind == .synced })
        #expect(all.count == start + 1 + 11)
        for index in start..<all.count {
            let place = all[index].place
            // As a program would keep it.
            let kept = try JSON(encoding: place).decode(as: Place.self)
            #expect(kept == place)
            let options = SubscribeOptions(delivery: .all, since: kept)
            let later = try await events(bus, options, until: "end")
            let expected = all[(index + 1)...].filter { $0.kind != .emit }
            #expect(later.map(Self.words) == expected.map(Self.words), "behind \(Self.words(all[index]))")
            #expect(later.allSatisfy { $0.isMissed && !$0.isInitial })
        }
    }

    @Test("an event's place is the revision before it and its key, and a batch's events tell theirs")
    func values() async throws {
        let broker = try await TestBroker()
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        let heard = Log<Event>()
        let observing = try await bus.subscribe("**") { heard.add($0) }
        let epoch = try #require(bus.greeting?.epoch)
        try await writer.publish("a", 1)
        try await writer.batch([.publish("b", 2), .publish("c", 2)])
        try await eventually("all have come") { heard.count == 4 }
        let places = heard.all.map(\.place)
        #expect(places.map(\.revision) == [0, 0, 1, 1])
        #expect(places.map(\.keys) == [[], ["a"], ["b"], ["b", "c"]])
        #expect(places.allSatisfy { $0.epoch == epoch })
        let last = try JSON(encoding: places[3])
        #expect(last["epoch"] == .string(epoch))
        #expect(last["revision"] == .integer(1))
        #expect(last["keys"]?.text == #"["b","c"]"#)
        #expect(try JSON(encoding: places[0])["keys"] == nil)
        #expect(places[2] != places[3])
        #expect(Set(places).count == 4)
        observing.dispose()
    }

    @Test("in a snapshot the place is still that before it: there is none, or the one that was given")
    func snapshots() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("a", 1)
        try await bus.publish("end", 1)
        let first = try await events(bus, Self.all, until: "end")
        #expect(first.map(\.place) == [.beginning])
        let foreign = Place(epoch: "0123456789abcdef", revision: 1, keys: ["a"])
        let second = try await events(bus, SubscribeOptions(since: foreign), until: "end")
        #expect(second.map(\.place) == [Place(epoch: "0123456789abcdef", revision: 1)])
        #expect(second.map(\.isInitial) == [true])
    }

    @Test(
        "from a place that the broker doesn't know, the current values come",
        arguments: [
            Place.beginning, Place(epoch: "0123456789abcdef", revision: 2),
            Place(epoch: "no epoch", revision: 1), Place(epoch: "", revision: -5, keys: ["a"]),
            Place(epoch: "present", revision: .max, keys: ["a"]), Place(epoch: "present", revision: 1_000),
        ]
    )
    func unknownPlace(_ place: Place) async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("a", 1)
        let epoch = place.epoch == "present" ? bus.greeting?.epoch ?? "" : place.epoch
        let given = Place(epoch: epoch, revision: place.revision, keys: place.keys)
        let heard = Log<Event>()
        let observing = try await bus.subscribe("a", options: SubscribeOptions(since: given)) {
            heard.add($0)
        }
        try await bus.publish("a", 2)
        #expect(heard.all.map(Self.words) == ["update a 1", "synced  1", "update a 2"])
        #expect(heard.all.map(\.isInitial) == [true, false, false])
        #expect(heard.all.allSatisfy { !$0.isMissed })
        observing.dispose()
    }

    @Test(
        "what isn't a place can't be decoded",
        arguments: [
            "5", "{}", #"{"epoch":"e"}"#, #"{"revision":1}"#, #"{"epoch":"e","revision":-1}"#,
            #"{"epoch":"e","revision":1.5}"#, #"{"epoch":1,"revision":1}"#,
            #"{"epoch":"e","revision":1,"keys":"a"}"#,
        ]
    )
    func malformed(_ text: String) throws {
        #expect(throws: (any Error).self) { try JSON(text).decode(as: Place.self) }
    }

    @Test("a key that was deleted meanwhile comes as a delete, even if this process never knew it")
    func deletedMeanwhile() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("a", 1)
        let revision = try await bus.publish("b", 1)
        let place = Place(epoch: try #require(bus.greeting?.epoch), revision: revision)
        try await bus.delete("a")
        try await bus.publish("b", 2)
        try await bus.publish("b", 3)
        let heard = Log<Event>()
        let options = SubscribeOptions(since: place)
        let observing = try await bus.subscribe("*", options: options) { heard.add($0) }
        try await bus.sync()
        #expect(heard.all.map(Self.words) == ["delete a 3", "update b 5", "synced  5"])
        #expect(heard.all.map(\.skipped) == [0, 1, 0])
        #expect(heard.all.allSatisfy { $0.isMissed })
        observing.dispose()
    }

    @Test("without the current values, missed events come and live ones follow")
    func withoutInitial() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let revision = try await bus.publish("a", 1)
        let place = Place(epoch: try #require(bus.greeting?.epoch), revision: revision)
        try await bus.publish("a", 2)
        let heard = Log<Event>()
        let options = SubscribeOptions(initial: false, since: place)
        let observing = try await bus.subscribe("*", options: options) { heard.add($0) }
        try await bus.publish("a", 3)
        #expect(heard.all.map(Self.words) == ["update a 2", "update a 3"])
        #expect(heard.all.map(\.isMissed) == [true, false])
        observing.dispose()
    }

    @Test("after a broken connection, missed events are marked, too")
    func reconnection() async throws {
        let broker = try await TestBroker(isKept: true)
        let bus = try await broker.connect()
        let heard = Log<Event>()
        let observing = try await bus.subscribe("*") { heard.add($0) }
        try await bus.publish("a", 1, while: .connected)
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        try await broker.start()
        try await eventually("it is told") { heard.all.filter { $0.kind == .synced }.count == 2 }
        try await bus.publish("a", 2)
        #expect(
            heard.all.map { "\($0.kind) \($0.isMissed)" } == [
                "synced false", "update false", "delete true", "synced true", "update false",
            ]
        )
        observing.dispose()
    }

    @Test("emits that came meanwhile are counted once, from any place, on an idle bus too")
    func missedEmits() async throws {
        let broker = try await TestBroker(isKept: true)
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        try await writer.publish("a", 0)
        for number in 0..<3 { try await writer.emit("e", number) }
        var options = SubscribeOptions(delivery: .all, countsEmits: true)
        var told: [Int] = []
        for round in 0..<6 {
            var events: [Event] = []
            for try await event in try await bus.subscribe("**", options: options) {
                events.append(event)
                if event.kind == .synced { break }
            }
            told += events.compactMap(\.missedEmits)
            #expect(events.dropFirst().allSatisfy { $0.missedEmits == nil })
            let place = try #require(events.last?.place)
            options.since = try JSON(encoding: place).decode(as: Place.self)
            #expect(options.since == place)
            // Each round has other things between the emits that are missed.
            try await writer.emit("e", 10)
            if round % 2 == 1 { try await writer.publish("a", round) }
            try await writer.emit("other", 11)
            if round == 3 { try await writer.publish("a", round) }
        }
        #expect(told == [2, 2, 2, 2, 2])
    }

    @Test("emits are counted after a broken connection, and not where nobody knows them")
    func missedEmitsOfAConnection() async throws {
        let broker = try await TestBroker(isKept: true)
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        let heard = Log<Event>()
        let options = SubscribeOptions(countsEmits: true)
        let observing = try await bus.subscribe("*", options: options) { heard.add($0) }
        try await writer.emit("e", 1)
        try await eventually("it is heard") { heard.all.contains { $0.kind == .emit } }
        let number = try #require(bus.greeting?.client)
        try await writer.disconnect(client: number)
        try await eventually("it is back") { heard.all.filter { $0.kind == .synced }.count == 2 }
        #expect(heard.all.last { $0.kind == .synced }?.missedEmits == 0)
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        try await broker.start()
        try await eventually("it is back") { heard.all.filter { $0.kind == .synced }.count == 3 }
        #expect(heard.all.last { $0.kind == .synced }.map { $0.missedEmits == nil } == true)
        observing.dispose()
    }
}
