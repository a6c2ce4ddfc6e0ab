// A real broker with its own socket, with plugins that a test starts as processes, and a
// bus to look at all of it. Everything ends with the test.

import Foundation
import PlugboardBroker
import PlugboardClient
import PlugboardPosix
import Synchronization
import TestSupport

/// A shop to test in.
final class Shop: Sendable {
    private let home: TemporaryFolder
    /// The folder of the broker's journal; nil if it keeps none.
    private let state: String?
    var folder: String { home.path }
    let path: String
    let bus: Bus
    private let running: Mutex<ServedBroker?>
    /// Kept until the shop closes, however a test names them.
    private let plugins = Mutex<[TestProgram]>([])

    init(isKept: Bool = false) async throws {
        home = try TemporaryFolder()
        state = isKept ? home("state") : nil
        path = home("bus.sock")
        running = Mutex(try ServedBroker(Configuration(socketPath: path, stateFolder: state)))
        let options = Bus.Options(
            requestTimeout: HangGuard.duration,
            connectTimeout: HangGuard.duration,
            backoff: Backoff(initial: .milliseconds(5), maximum: .milliseconds(20))
        )
        bus = try await Bus.connect(name: "test", path: path, options: options)
    }

    deinit {
        bus.close()
        plugins.withLock { $0 = [] }
        stopBroker()
    }

    /// Starts a plugin on this shop's bus without waiting for it.
    @discardableResult
    func start(
        _ plugin: String,
        _ arguments: [String] = [],
        input: TestProgram.Input = .nothing,
        output: TestProgram.Output = .files
    ) throws -> TestProgram {
        let process = try TestProgram(
            plugin, ["--socket", path] + arguments, in: folder, input: input, output: output
        )
        plugins.withLock { $0.append(process) }
        return process
    }

    /// Replaces the broker by one that remembers nothing.
    func restartBroker() async throws {
        let epoch = bus.greeting?.epoch
        stopBroker()
        // The lock is free when the last thread has released the broker.
        try await eventually("the path is free") {
            do {
                let next = try ServedBroker(Configuration(socketPath: path, stateFolder: state))
                running.withLock { $0 = next }
                return true
            } catch is BrokerError {
                return false
            }
        }
        // An earlier request could be lost with the old connection.
        try await eventually("the test's bus is back") {
            self.bus.state.isConnected && self.bus.greeting?.epoch != epoch
        }
    }

    /// Stops the broker and waits for its end.
    func stopBroker() {
        running.withLock { $0.take() }?.stopAndWait()
    }

    // What tests ask of the bus.

    /// The text of a key's value, exactly as it is kept; nil if there is none.
    func text(_ key: String) async throws -> String? {
        try await bus.entry(key)?.value.text
    }

    /// Publishes a value given as JSON text.
    func publish(_ key: String, _ json: String) async throws {
        try await bus.publish(key, JSON(json))
    }

    /// Emits an event given as JSON text.
    func emit(_ key: String, _ json: String) async throws {
        try await bus.emit(key, JSON(json))
    }

    /// Waits until a key has this value, byte for byte, or is absent if it is nil.
    func waitFor(_ key: String, _ value: String?) async throws {
        try await eventually("\(key) is \(value ?? "absent")") { try await self.text(key) == value }
    }
}
