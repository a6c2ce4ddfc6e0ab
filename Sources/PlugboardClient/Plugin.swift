// A program on the bus from its first line to its exit status.

import PlugboardPosix

/// Runs a plugin: connects, lets it set itself up, and serves until it is to stop.
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
    /// Connects under `name`, waiting a little for a broker that is just starting, and runs
    /// `body`. When that returns before a signal came, it goes on until one does: observers
    /// and callbacks need no more. Then everything that was written is brought to the broker.
    ///
    /// It ends the process with a message on standard error where it can't go on: status 69
    /// without a broker, 1 for any other error. Otherwise it returns.
    public static func run(
        name: String,
        path: String? = nil,
        options: Bus.Options = Bus.Options(waitForBroker: .seconds(5)),
        _ body: (Bus) async throws -> Void
    ) async {
        do {
            let bus = try await Bus.connect(name: name, path: path, options: options)
            bus.stopAtSignals()
            do {
                try await body(bus)
                try await bus.runUntilStopped()
            } catch {
                let wasStopped = bus.link.state.withLock { $0.isStopped }
                await bus.finish()
                if !wasStopped { throw error }
            }
        } catch {
            StandardStream.complain("\(name): \(error)")
            exit(status(of: error))
        }
    }

    private static func status(of error: any Error) -> Int32 {
        if case .noBroker? = error as? BusError { return 69 }
        return 1
    }
}
