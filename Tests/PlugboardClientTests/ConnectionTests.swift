// Connecting, and peers that are no proper broker.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("connecting", .someAtATime)
struct ConnectionTests {
    @Test("without a broker connecting fails at once, and says where it looked")
    func nobody() async throws {
        let folder = try TemporaryFolder()
        let error = await #expect(throws: BusError.self) {
            try await Bus.connect(path: folder.path + "/bus.sock")
        }
        guard case .noBroker(let path, _)? = error else {
            throw NeverHappened(description: "\(String(describing: error)) is not noBroker")
        }
        #expect(path == folder.path + "/bus.sock")
    }

    @Test("where too many clients wait to be accepted, connecting fails when a request would")
    func fullQueue() async throws {
        let folder = try TemporaryFolder()
        let full = try FullQueue(path: folder.socket)
        var options = Bus.Options.quick
        options.requestTimeout = .milliseconds(100)
        let expected = BusError.noBroker(path: folder.socket, reason: "too many clients wait to be accepted")
        await #expect(throws: expected) { try await Bus.connect(path: folder.socket, options: options) }
        withExtendedLifetime(full) {}
    }

    @Test("a path that is too long for a socket is refused with that reason")
    func longPath() async throws {
        let path = "/tmp/" + String(repeating: "x", count: 200)
        let error = await #expect(throws: BusError.self) { try await Bus.connect(path: path) }
        #expect(error.map { "\($0)".contains("at most") } == true)
    }

    @Test("on request, a broker that starts a little later is waited for")
    func waiting() async throws {
        let broker = try await TestBroker()
        try await broker.stop()
        var options = Bus.Options.quick
        options.waitForBroker = HangGuard.duration
        async let connecting = broker.connect("early", options: options)
        try await broker.start()
        let bus = try await connecting
        #expect(bus.state.isConnected)
    }

    @Test("the greeting is kept: epoch, limits, features")
    func greeting() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let greeting = try #require(bus.greeting)
        #expect(greeting.protocolNumber == 1)
        #expect(greeting.epoch.count == 16)
        #expect(greeting.limits["key"] == 256)
        #expect(greeting.features.contains("batch"))
    }

    @Test("a name that the broker refuses fails the connection with its code")
    func badName() async throws {
        let broker = try await TestBroker()
        let error = await #expect(throws: BusError.self) { try await broker.connect("#1") }
        #expect(error?.code == .wrongType)
    }

    @Test(
        "a peer that doesn't greet like a broker is refused, with what is wrong",
        arguments: [
            "SSH-2.0-OpenSSH_9.9", "{}", "[1]", "", #"{"event":"hello"}"#,
            #"{"event":"hello","protocol":2}"#, #"{"event":"hello","protocol":"1"}"#, #"{"event":"hello","#,
        ]
    )
    func malformedGreeting(line: String) async throws {
        let fake = try FakeBroker { peer in
            try peer.send(line)
            try peer.drain()
        }
        let error = await #expect(throws: BusError.self) { try await fake.connect() }
        guard case .notABroker? = error else {
            throw NeverHappened(description: "\(String(describing: error)) is not notABroker")
        }
        try await eventually("the client leaves") { fake.hasEnded.isRaised }
    }

    @Test("a peer that says nothing, or doesn't answer hello, is given up in time")
    func silence() async throws {
        var options = Bus.Options.quick
        options.connectTimeout = .milliseconds(50)
        let mute = try FakeBroker { try $0.drain() }
        await #expect(throws: BusError.notABroker(path: mute.path, reason: "no greeting in time")) {
            try await mute.connect(options: options)
        }
        let deaf = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.drain()
        }
        await #expect(throws: BusError.notABroker(path: deaf.path, reason: "no answer in time")) {
            try await deaf.connect("me", options: options)
        }
    }

    @Test("a bye instead of a greeting is passed on")
    func byeFirst() async throws {
        let fake = try FakeBroker { try $0.send(#"{"event":"bye","reason":"clients","message":"too many"}"#) }
        let error = await #expect(throws: BusError.self) { try await fake.connect() }
        #expect(error.map { "\($0)".contains("too many") } == true)
    }

    @Test("a cancelled connect ends, and so does its connection")
    func cancelled() async throws {
        let isThere = Flag()
        let fake = try FakeBroker { peer in
            isThere.raise()
            try peer.drain()
        }
        let connecting = Task { try await fake.connect() }
        try await eventually("it connects") { isThere.isRaised }
        connecting.cancel()
        await #expect(throws: CancellationError.self) { try await connecting.value }
        try await eventually("the client leaves") { fake.hasEnded.isRaised }
    }

    @Test("unknown fields, events and kinds of line are ignored")
    func unknown() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            let subscribe = try peer.expect("subscribe")
            try peer.send(#"{"novelty":[1,{"a":2}]}"#)
            try peer.send(#"{"event":"weather","sub":1,"sky":"blue"}"#)
            try peer.send(#"{"event":"weather"}"#)
            try peer.send(
                #"{"ok":"subscribe","id":\#(subscribe),"sub":1,"revision":3,"mood":{"of":["day"]}}"#
            )
            try peer.send(
                #"{"event":"update","x":null,"sub":1,"key":"k","revision":3,"value":1.0,"by":"a\"b","until":[]}"#
            )
            try peer.send(#"{"event":"update","sub":99,"key":"k","revision":3,"value":1}"#)
            try peer.send(
                #"  { "event" : "emit" , "sub" : 1 , "key" : "k" , "revision" : 4 , "value" : [ 1 ] } "#
                    + "\r"
            )
            try peer.drain()
        }
        let bus = try await fake.connect()
        #expect(bus.greeting?.features == ["batch", "new"])
        var events: [Event] = []
        for try await event in try await bus.subscribe("k") {
            events.append(event)
            if events.count == 2 { break }
        }
        #expect(events.map(\.revision) == [3, 4])
        #expect(events.map(\.value?.text) == ["1.0", "[ 1 ]"])
        #expect(events.first?.by == "a\"b")
    }

    @Test("answers and events are understood, however they are split into packets")
    func pieces() async throws {
        let fake = try FakeBroker { peer in
            for byte in (FakeBroker.greeting() + "\n").unicodeScalars { try peer.send(raw: String(byte)) }
            let id = try peer.expect("sync")
            try peer.send(raw: #"{"ok":"sync","#)
            try peer.send(raw: #""id":\#(id),"revision":12}"# + "\n\n" + #"{"ok":"sy"#)
            try peer.send(raw: #"nc","id":77}"# + "\n")
            try peer.drain()
        }
        let bus = try await fake.connect()
        #expect(try await bus.sync() == 12)
    }

    @Test("a line without an end doesn't grow without limit")
    func endlessLine() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.send(raw: #"{"event":""#)
            let chunk = String(repeating: "x", count: 1 << 20)
            for _ in 0..<20 { try peer.send(raw: chunk) }
        }
        var options = Bus.Options.quick
        options.reconnects = false
        let bus = try await fake.connect(options: options)
        await bus.waitUntilStopped()
        guard case .closed(.disconnected(let reason)?) = bus.state else {
            throw NeverHappened(description: "\(bus.state)")
        }
        #expect(reason.contains("line of more than"))
    }
}
