// A program on the bus from its first line to its exit status.

import PlugboardPosix

/// Runs a plugin: connects, runs `body`, and goes on until the plugin is asked to stop.
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
    /// goes on until one does: observers and callbacks need no more. Then it sends all remaining
    /// writes to the broker.
    ///
    /// If there is no broker yet, it waits for one: five seconds, unless `options` says otherwise.
    /// After a moment, a line on standard error says so. SIGTERM and SIGINT end the wait as well,
    /// and then `body` is never called.
    ///
    /// If the reader of the output goes away, the plugin goes on, and its output is lost.
    ///
    /// A ``Bus/setWill(_:timeout:)`` is written where the process ends in any other way than by a
    /// signal or its own `stop()`.
    ///
    /// It ends the process with a message on standard error where it can't go on: status 69
    /// without a broker, 1 for any other error. Otherwise it returns.
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
                // An error is not an orderly end, so the broker writes the will.
                _ = await bus.finish(saysGoodbye: wasStopped)
                if !wasStopped { throw error }
            }
        } catch {
            fail(name, error, status: 1)
        }
    }

    /// Ends the process, with its message below a status line that may be on the terminal.
    static func fail(_ name: String, _ error: any Error, status: Int32) -> Never {
        Console.endStatus()
        Console.warn("\(name): \(error)")
        exit(status)
    }
}
