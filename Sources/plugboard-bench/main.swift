// The program `plugboard-bench`. `plugboard bench` turns into it by `exec`, so signals and the exit
// status are this program's. It also runs two of its own servers: `limit` and `traced`.

import PlugboardPosix

StandardStream.occupy()
Signals.ignoreFailedWrites()
exit(BenchProgram.run(Array(Arguments.all().dropFirst())))
