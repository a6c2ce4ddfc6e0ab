// `Plugin.run` for programs with a command line. It connects to the given socket, and reports on standard
// error when the connection breaks and is made again.

import PlugboardPosix

extension Plugin {
    /// The same as ``run(name:path:options:_:)``, with the name and the socket of the command line. It
    /// reports on standard error when the connection breaks and when it is made again.
    public static func run(_ arguments: PluginArguments, _ body: (Bus) async throws -> Void) async {
        let options = Bus.Options(waitForBroker: .seconds(5), peer: arguments.peer)
        await run(name: arguments.name, path: arguments.socket, options: options) { bus in
            let observation = bus.onStateChange { state in
                switch state {
                case .disconnected(let error): Console.warn("\(error); trying again")
                case .reconnected: Console.warn("connected again")
                case .connecting, .connected, .closed: break
                }
            }
            defer { observation.dispose() }
            try await body(bus)
            await bus.waitUntilStopped()
        }
    }
}
