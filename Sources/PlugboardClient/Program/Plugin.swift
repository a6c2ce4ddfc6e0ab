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
public enum Plugin {
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
        Signals.ignoreBrokenPipes()
        guard let bus = await open(name, path ?? SocketPath.standard(), options) else { return }
        bus.stopAtSignals()
        do {
            do {
                try await body(bus)
                try await bus.runUntilStopped()
            } catch {
                let wasStopped = bus.link.state.withLock { $0.isStopped }
                // An error is no orderly end, so the broker should write the will.
                _ = await bus.finish(saysGoodbye: wasStopped)
                if !wasStopped { throw error }
            }
        } catch {
            fail(name, error, status: 1)
        }
    }

    /// Ends the process. The message comes below the status line, if there is one.
    static func fail(_ name: String, _ error: any Error, status: Int32) -> Never {
        Console.endStatus()
        Console.warn("\(name): \(error)")
        exit(status)
    }
}
