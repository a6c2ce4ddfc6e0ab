// Runs a plugin from its start to its exit status. SIGTERM and SIGINT don't end the process at once: what
// was written before is sent first. An error ends it with a message on standard error.

import PlugboardPosix

/// Runs a plugin: connects, runs `body`, and continues until the plugin should stop.
///
/// ```swift
/// import PlugboardClient
///
/// await Plugin.run(name: "greeter") { bus in
///     for try await event in try await bus.subscribe("people.*") where event.kind == .update {
///         try await bus.publish("greetings.\(event.key)", "hello")
///     }
/// }
/// ```
public struct Plugin: Sendable {
    let name: String
    let path: String
    let options: Bus.Options
    let body: @Sendable (Bus) async throws -> Void

    /// Connects under `name` and runs `body`. If `body` returns before a signal comes, the plugin
    /// continues until one does, which is all that observers and callbacks need. Then it sends all
    /// remaining writes to the broker.
    ///
    /// If there is no broker yet, it waits for one: five seconds, unless `options` says otherwise. After
    /// a moment it says so on standard error. SIGTERM and SIGINT end the wait, too, and then `body` is
    /// never called.
    ///
    /// If nobody reads the plugin's output any more, the plugin continues, and its output is lost.
    ///
    /// The broker writes the will (``Bus/setWill(_:timeout:)``) if the process ends in any other way than
    /// by a signal or its own `stop()`.
    ///
    /// If it can't continue, it ends the process with a message on standard error: with status 69 without
    /// a broker, and 1 for any other error. Otherwise it returns.
    public static func run(
        name: String,
        path: String? = nil,
        options: Bus.Options = Bus.Options(waitForBroker: .seconds(5)),
        _ body: (Bus) async throws -> Void
    ) async {
        StandardStream.occupy()
        Signals.ignoreFailedWrites()
        do {
            guard let bus = try await open(name, path ?? SocketPath.standard(), options) else { return }
            do {
                try await run(bus, body)
            } catch {
                fail(name, error, status: 1)
            }
        } catch {
            fail(name, error, status: status(of: error))
        }
    }

    /// Runs `body` until the plugin should stop, sends the remaining writes, and closes the bus.
    static func run(_ bus: Bus, _ body: (Bus) async throws -> Void) async throws {
        bus.stopAtSignals()
        var failure: (any Error)?
        do {
            try await body(bus)
            await bus.waitUntilStopped()
            if case .closed(let error?) = bus.state { failure = error }
        } catch {
            failure = error
        }
        let isStopping = bus.link.state.withLock { $0.isStopped } || Task.isCancelled
        // An error is no orderly end, so the broker should write the will. The last writes are made in a task
        // of their own, because no request works in one that was cancelled. They have a second, and as much more as
        // `PLUGBOARD_TIMEOUT` says that this machine needs.
        let limit = Bus.Options.usualTimeout / 5
        let saysGoodbye = (failure == nil || isStopping) && bus.link.options.grace == .zero
        await Task { _ = await bus.finish(within: limit, saysGoodbye: saysGoodbye) }.value
        if let failure, !isStopping { throw failure }
    }

    /// Ends the process. The message comes below the status line, if there is one.
    static func fail(_ name: String, _ error: any Error, status: Int32) -> Never {
        Console.endStatus()
        Console.warn("\(name): \(error)")
        exit(status)
    }
}
