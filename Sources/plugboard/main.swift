// The start of the command `plugboard`, and of the plugins that it holds. The code is in other files, because tests
// can't import this one.

import PlugboardPosix

if let plugin = HeldPlugins.called {
    await plugin()
} else {
    exit(Program.run(Array(Arguments.all().dropFirst())).rawValue)
}
