// bridge: mirrors chosen keys of this bus through etcd, so that the buses of several hosts share them.
//
// It is a client like any other. README.md beside this file says what it promises and how that works.

import PlugboardClient

/// The whole plugin.
public enum BridgeProgram {
    /// Runs it to its end, with the process's command line.
    @MainActor
    public static func run() async {
        let settings = BridgeOptions.read()
        let patterns = settings.sharing.all.joined(separator: ", ")
        await Plugin.run(BridgeOptions.arguments) { bus in
            Console.say("\(settings.host) shares \(patterns) under \(settings.prefix.text)")
            try await BridgeRunner(bus: bus, settings: settings).run()
        }
    }
}
