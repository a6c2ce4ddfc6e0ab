// Remote observables with real brokers, and with a scripted one for what a real broker never does.

import Observables
import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("remote observables", .someAtATime)
struct RemoteObservableTests {
    struct Profile: Codable, Equatable {
        var name: String
        var postCount = 0
    }

    @Test("code written for a local observable works on a remote one")
    func sameVerbs() async throws {
        func exercise(_ counter: some ValueObservable<Int>, _ heard: Log<String>) -> Disposable {
            let observation = counter.observe { heard.add("\($0.old ?? -1) → \($0.new)") }
            counter.value = 5
            counter.value += 1
            counter.update { $0 *= 2 }
            counter.update(7)
            return observation
        }
        let local = Log<String>()
        let first = exercise(ObservableValue(0), local)
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let remote = Log<String>()
        let counter = bus.observable("counter", default: 0)
        let second = exercise(counter, remote)
        #expect(counter.value == 7)
        try await bus.sync()
        #expect(remote.all == local.all)
        #expect(remote.all == ["0 → 5", "5 → 6", "6 → 12", "12 → 7"])
        first.dispose()
        second.dispose()
    }

    @Test("it starts with the default, and ready returns the broker's value")
    func ready() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("profile", Profile(name: "Ada", postCount: 3))
        let profile = bus.observable("profile", default: Profile(name: ""))
        #expect(try await profile.ready() == Profile(name: "Ada", postCount: 3))
        #expect(profile.isReady)
        #expect(profile.revision == 1)
        let absent = bus.observable("absent", default: 8)
        #expect(try await absent.ready() == 8)
        #expect(absent.revision == 0)
    }

    @Test("what one program sets, another observes, with the old and the new value")
    func twoPrograms() async throws {
        let broker = try await TestBroker()
        let here = try await broker.connect()
        let there = try await broker.connect()
        let mine = here.observable("profile", default: Profile(name: ""))
        let theirs = there.observable("profile", default: Profile(name: ""))
        try await theirs.ready()
        let changes = Log<Change<Profile>>()
        let parts = Log<Int>()
        let whole = theirs.observe(initial: true) { changes.add($0) }
        let part = theirs.observe(\.postCount) { parts.add($0.new) }
        mine.value.name = "Ada"
        mine.value.postCount += 1
        try await here.sync()
        try await there.sync()
        #expect(changes.all.map(\.new.name) == ["", "Ada", "Ada"])
        #expect(changes.all.map(\.old?.postCount) == [nil, 0, 0])
        #expect(parts.all == [1])
        #expect(theirs.value == Profile(name: "Ada", postCount: 1))
        whole.dispose()
        part.dispose()
    }

    @Test("value shows its own change at once; observers get it from the broker")
    func ahead() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: ["k"])
            try peer.send(#"{"event":"synced","sub":1,"revision":2}"#)
            var publish = 0
            while let line = try peer.line(), let id = line.requestID {
                if line.contains(#""op":"publish""#) { publish = id }
                if line.contains(#""op":"sync""#) {
                    try peer.send(#"{"ok":"sync","id":\#(id),"revision":2}"#)
                }
                guard line.contains(#""op":"get""#) else { continue }
                try peer.send(#"{"error":"forbidden","id":\#(publish),"message":"not yours"}"#)
            }
        }
        let bus = try await fake.connect()
        let faults = Log<Fault>()
        let watching = bus.onFault { faults.add($0) }
        let key = bus.observable("k", default: 0)
        #expect(try await key.ready() == 1)
        let heard = Log<Int>()
        let observation = key.observe { heard.add($0.new) }
        key.value = 9
        #expect(key.value == 9)
        try await bus.sync()
        #expect(heard.all.isEmpty)
        let provoking = Task { try await bus.get("x", as: Int.self) }
        try await eventually("the refusal arrives") { faults.count == 1 }
        #expect(key.value == 1)
        #expect(faults.all.first?.key == "k")
        #expect(faults.all.first?.error.code == .forbidden)
        bus.close()
        _ = await provoking.result
        watching.dispose()
        observation.dispose()
    }

    @Test("a delete is a change to the default")
    func deletion() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("k", 5)
        let key = bus.observable("k", default: -1)
        try await key.ready()
        let heard = Log<Int>()
        let observation = key.observe { heard.add($0.new) }
        try await bus.delete("k")
        #expect(key.value == -1)
        #expect(key.revision == 0)
        #expect(heard.all == [-1])
        observation.dispose()
    }

    @Test("after a restart observers get only differences: a new value or a delete")
    func restart() async throws {
        let areObserved = Flag()
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            while !areObserved.isRaised { Pause.sleep(seconds: 0.002) }
            try peer.play(["same": "1", "other": "1", "gone": "1"])
        } _: { peer in
            try peer.send(FakeBroker.greeting(epoch: "e2"))
            try peer.play(["same": "1", "other": "2"])
            try peer.drain()
        }
        let bus = try await fake.connect()
        let heard = Log<String>()
        let keys = ["same", "other", "gone"].map { bus.observable($0, default: 0) }
        let observations = keys.map { key in key.observe { heard.add("\(key.key) \($0.new)") } }
        areObserved.raise()
        try await eventually("all is told") { heard.count >= 5 }
        try await eventually("it is back") { bus.state.isConnected }
        #expect(heard.count == 5)
        #expect(heard.all.prefix(3).sorted() == ["gone 1", "other 1", "same 1"])
        #expect(Set(heard.all.dropFirst(3)) == ["other 2", "gone 0"])
        for observation in observations { observation.dispose() }
    }

    @Test("an observable made without a connection is up to date when there is one")
    func madeMeanwhile() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        let key = bus.observable("k", default: 0)
        key.value = 3
        #expect(key.value == 3)
        try await broker.start()
        try await key.ready()
        try await bus.sync()
        #expect(key.revision == 1)
        #expect(try await bus.get("k", as: Int.self) == 3)
    }

    @Test("modify loses no change, however many programs change at once")
    func modify() async throws {
        let broker = try await TestBroker()
        var options = Bus.Options.quick
        options.requestTimeout = HangGuard.duration
        let perProgram = 25
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                let bus = try await broker.connect(options: options)
                group.addTask {
                    let counter = bus.observable("counter", default: 0)
                    for _ in 0..<perProgram { try await counter.modify { $0 += 1 } }
                }
            }
            try await group.waitForAll()
        }
        let bus = try await broker.connect()
        #expect(try await bus.get("counter", as: Int.self) == 4 * perProgram)
    }

    @Test("a value that can't be decoded is a fault, and the previous value stays")
    func undecodable() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("k", 1)
        let key = bus.observable("k", default: 0)
        try await key.ready()
        let faults = Log<Fault>()
        let watching = bus.onFault { faults.add($0) }
        try await bus.publish("k", "text")
        #expect(key.value == 1)
        guard case .undecodable(key: "k", _)? = faults.all.first?.error else {
            throw NeverHappened(description: "\(faults.all)")
        }
        let error = await #expect(throws: BusError.self) { try await key.modify { $0 += 1 } }
        #expect(error?.isConflict == true)
        watching.dispose()
    }

    @Test("an invalid key fails in ready and is a fault", arguments: ["a.*", "", "a b", "**"])
    func badKey(key: String) async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let faults = Log<Fault>()
        let watching = bus.onFault { faults.add($0) }
        let observable = bus.observable(key, default: 0)
        let error = await #expect(throws: BusError.self) { try await observable.ready() }
        #expect(error?.code == .badKey)
        #expect(faults.all.map(\.error.code) == [.badKey])
        watching.dispose()
    }

    @Test("raw JSON is observed byte for byte")
    func raw() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let total = bus.observable("total", default: JSON.null)
        total.value = try JSON("1000.00")
        try await bus.sync()
        #expect(total.value.text == "1000.00")
        #expect(try await bus.entry("total")?.value.text == "1000.00")
    }

    @Test("its values are a sequence that ends with the bus")
    func values() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let key = bus.observable("k", default: 0)
        let stream = key.values(buffering: .unbounded)
        for number in 1...3 { try await bus.publish("k", number) }
        bus.close()
        var heard: [Int] = []
        for await value in stream { heard.append(value) }
        #expect(heard == [0, 1, 2, 3])
        #expect(key.value == 3)
    }

    @Test("a released observable unsubscribes")
    func released() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        do {
            let key = bus.observable("k", default: 0)
            try await key.ready()
        }
        try await bus.sync()
        #expect(bus.link.state.withLock { $0.registrations.isEmpty })
    }
}

extension Peer {
    /// Accepts all subscriptions, each with its key's value from the table.
    fileprivate func play(_ values: [String: String]) throws {
        for _ in 0..<3 {
            guard let line = try line() else { return }
            let parts = line.split(separator: "\"").map(String.init)
            guard let keys = parts.firstIndex(of: "keys"), let sub = line.number(after: #""sub":"#),
                let id = line.requestID
            else { throw NeverHappened(description: "a subscribe, but \(line)") }
            let key = parts[keys + 2]
            try send(#"{"ok":"subscribe","id":\#(id),"sub":\#(sub),"revision":2}"#)
            if let value = values[key] {
                let place = #""sub":\#(sub),"key":"\#(key)","revision":2"#
                try send(#"{"event":"update",\#(place),"value":\#(value),"initial":true}"#)
            }
            try send(#"{"event":"synced","sub":\#(sub),"revision":2}"#)
        }
    }
}
