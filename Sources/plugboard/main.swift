// The start of the command `plugboard`. The code is in other files, because tests can't import this one.

import PlugboardPosix

exit(Program.run(Array(Arguments.all().dropFirst())).rawValue)
