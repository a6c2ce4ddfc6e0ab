// bridge: mirrors chosen keys of this bus through etcd, so that the buses of several hosts share them.
//
// It is a client like any other. README.md beside this file says what it promises and how that works.

import PlugboardClient

await Plugin.run(BridgeOptions.arguments) { bus in
    let settings = try BridgeOptions.settings()
    Console.say(
        "\(settings.host) shares \(settings.sharing.all.joined(separator: ", ")) under \(settings.prefix.text)"
    )
    try await BridgeRunner(bus: bus, settings: settings).run()
}
