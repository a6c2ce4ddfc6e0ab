// The command `plugboard`: everything is in files that tests can reach.

import PlugboardPosix

exit(Program.run(Array(CommandLine.arguments.dropFirst())).rawValue)
