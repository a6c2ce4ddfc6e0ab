// The program `plugboard-bench`. `plugboard bench` becomes it by `exec`, so
// signals and the exit status are this program's. It also starts itself, for
// two of its servers.

import PlugboardPosix

StandardStream.occupy()
Signals.ignoreBrokenPipes()
exit(BenchProgram.run(Array(CommandLine.arguments.dropFirst())))
