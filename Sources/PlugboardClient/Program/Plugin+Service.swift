// A plugin as a value, for programs that consist of several services: it ends when its task is cancelled, and
// throws instead of ending the process.

import PlugboardPosix

extension Plugin {
    /// A plugin that `run()` runs. It fits where a service with `func run() async throws` is asked for, such
    /// as in ServiceLifecycle.
    ///
    /// ```swift
    /// let greeter = Plugin(name: "greeter") { bus in
    ///     for try await event in try await bus.subscribe("people.*") where event.kind == .update {
    ///         try await bus.publish("greetings.\(event.key)", "hello")
    ///     }
    /// }
    /// try await greeter.run()
    /// ```
    /// The parameters are those of ``run(name:path:options:_:)``.
    public init(
        name: String,
        path: String? = nil,
        options: Bus.Options = Bus.Options(waitForBroker: .seconds(5)),
        _ body: @escaping @Sendable (Bus) async throws -> Void
    ) {
        self.name = name
        self.path = path ?? SocketPath.standard()
        self.options = options
        self.body = body
    }

    /// Connects, and runs the body until SIGTERM or SIGINT comes, the bus is stopped, or the task is
    /// cancelled. If the body returns earlier, it waits for that. Then it sends all remaining writes, says
    /// goodbye, and returns, whatever the body has thrown because of the end. It may be called again, for
    /// another connection.
    ///
    /// A cancelled task's loops end, and its requests throw `CancellationError`. A second signal ends the
    /// process, as signals do.
    /// - Throws: why it can't connect, what the body throws by itself, or why the bus has closed.
    public func run() async throws {
        StandardStream.occupy()
        Signals.ignoreFailedWrites()
        guard let bus = try await Self.open(name, path, options) else { return }
        try await Self.run(bus, body)
    }
}
