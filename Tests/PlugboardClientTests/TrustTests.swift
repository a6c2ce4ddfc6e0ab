// The library and another user's broker.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("another user's broker", .enabled(if: Stranger.isPossible), .someAtATime)
struct TrustTests {
    @Test("it gets nothing, the error names its user, and waiting for a broker ends at once")
    func refused() async throws {
        let stranger = try Stranger(saying: [FakeBroker.greeting()])
        var options = Bus.Options.quick
        options.waitForBroker = HangGuard.duration
        let error = await #expect(throws: BusError.self) {
            try await Bus.connect(name: "till", path: stranger.path, options: options)
        }
        guard case .untrusted(path: stranger.path, let reason)? = error else {
            throw NeverHappened(description: "\(String(describing: error)) is not untrusted")
        }
        #expect(reason.contains("another user's"))
        #expect(reason.contains(Accounts.name(of: Stranger.user) ?? "65534"))
        #expect(try stranger.heard() == "")
    }

    @Test("a user that the caller trusts is like any other")
    func allowed() async throws {
        let stranger = try Stranger(saying: [FakeBroker.greeting()])
        let options = Bus.Options(peer: "\(Stranger.user)")
        let bus = try await Bus.connect(path: stranger.path, options: options)
        #expect(bus.greeting?.epoch == "e1")
        bus.close()
        #expect(try stranger.heard() == "")
    }

    @Test("an unknown user can't be trusted")
    func unknown() async throws {
        let options = Bus.Options(peer: "no such user")
        let expected = BusError.untrusted(path: "/nowhere/s", reason: "there is no user \"no such user\"")
        await #expect(throws: expected) { try await Bus.connect(path: "/nowhere/s", options: options) }
    }

    @Test("one that takes the place of the user's own broker is one fault, until that is back")
    func taken() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect("till")
        let faults = Log<Fault>()
        let watching = bus.onFault { faults.add($0) }
        try await broker.stop()
        let stranger = try Stranger(at: broker.path, saying: [FakeBroker.greeting()])
        try await eventually("it is told") { faults.count > 0 }
        guard case .untrusted? = faults.all.first?.error else {
            throw NeverHappened(description: "\(faults.all)")
        }
        #expect(try stranger.heard() == "")
        SystemCalls.remove(broker.path)
        SystemCalls.giveAway(broker.folder.path, to: Accounts.ownUser, group: 0)
        try await broker.start()
        try await eventually("it is back") { bus.state.isConnected }
        try await bus.publish("k", 1)
        #expect(faults.count == 1)
        watching.dispose()
    }
}
