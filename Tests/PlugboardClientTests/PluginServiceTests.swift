// Plugins as services of a larger program.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardClient

/// What a library such as ServiceLifecycle asks of a service.
private protocol ServiceOfProgram: Sendable {
    func run() async throws
}

extension Plugin: ServiceOfProgram {}

@Suite("plugins as services", .someAtATime)
struct PluginServiceTests {
    @Test("a cancelled service ends, with its last writes made and its goodbye said")
    func cancelled() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let greeter = Plugin(name: "greeter", path: broker.path, options: .quick) { bus in
            try await bus.setWill(.publish("greeter.state", "lost"))
            try await bus.publish("greeter.state", "ready")
            for try await event in try await bus.subscribe("people.*") where event.kind == .update {
                // Not with `await`: the test sees the greeting before the reply comes, and would cancel that.
                try bus.pipeline.publish("greetings.\(event.key)", "hello")
            }
            try bus.pipeline.publish("greeter.state", "done")
        }
        let service: any ServiceOfProgram = greeter
        // It can run again.
        for _ in 1...2 {
            let running = Task { try await service.run() }
            try await eventually("it runs") { try await bus.get("greeter.state", as: String.self) == "ready" }
            try await bus.publish("people.ada", 1)
            try await eventually("it works") { try await bus.entry("greetings.people.ada") != nil }
            running.cancel()
            try await running.value
            try await bus.sync()
            #expect(try await bus.get("greeter.state", as: String.self) == "done")
            try await bus.delete("greetings.people.ada")
        }
    }

    @Test(
        "a body that has returned goes on until it is cancelled; a request that was under way doesn't fail it"
    )
    func returned() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let serving = Plugin(name: "s", path: broker.path, options: .quick) { bus in
            let serving = try await bus.serve("s") { (number: Int) in number + 1 }
            withExtendedLifetime(serving) {}
            await bus.waitUntilStopped()
        }
        let running = Task { try await serving.run() }
        try await eventually("it serves") { try await bus.who("s").server != nil }
        running.cancel()
        try await running.value
        #expect(try await bus.who("s").server == nil)
        let waiting = Plugin(name: "w", path: broker.path, options: .quick) { bus in
            let _: Int = try await bus.call("never", 1, timeout: HangGuard.duration)
        }
        let never = try await bus.serve(concurrently: "never") { (_: Call) in
            try await Task.sleep(for: .seconds(600))
            return 1
        }
        let calling = Task { try await waiting.run() }
        try await eventually("it calls") { try await bus.who("never").server?.calls == 1 }
        calling.cancel()
        try await calling.value
        never.dispose()
    }

    @Test("SIGTERM ends it, and the program around it goes on", arguments: [SIGTERM, SIGINT])
    func signals(signal: Int32) async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let program = try Program("service", socket: broker.path)
        try await bus.awaitValue("service.state", "ready")
        program.signal(signal)
        #expect(try await program.end() == .exited(0))
        #expect(program.output.contains("the rest of the program ends, too"))
        #expect(try await bus.get("service.state", as: String.self) == "done")
    }

    @Test("what its body throws is thrown, and the broker writes the will")
    func failing() async throws {
        struct Odd: Error {}
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let plugin = Plugin(name: "odd", path: broker.path, options: .quick) { bus in
            try await bus.setWill(.publish("odd.state", "lost"))
            throw Odd()
        }
        await #expect(throws: Odd.self) { try await plugin.run() }
        try await eventually("the will") { try await bus.get("odd.state", as: String.self) == "lost" }
    }

    @Test("without a broker it throws; while it waits for one, cancelling ends it without an error")
    func noBroker() async throws {
        let folder = try TemporaryFolder()
        let impatient = Plugin(name: "p", path: folder("bus.sock"), options: .quick) { _ in }
        let error = await #expect(throws: BusError.self) { try await impatient.run() }
        guard case .noBroker? = error else {
            throw NeverHappened(description: "\(String(describing: error))")
        }
        let options = Bus.Options(waitForBroker: HangGuard.duration)
        let patient = Plugin(name: "p", path: folder("bus.sock"), options: options) { _ in }
        let running = Task { try await patient.run() }
        running.cancel()
        try await running.value
    }

    @Test("a broker that says no is an error of the service")
    func refused() async throws {
        let broker = try await TestBroker()
        let name = String(repeating: "x", count: 65)
        let plugin = Plugin(name: name, path: broker.path, options: .quick) { _ in }
        let error = await #expect(throws: BusError.self) { try await plugin.run() }
        #expect(error?.code == .limit)
    }
}
