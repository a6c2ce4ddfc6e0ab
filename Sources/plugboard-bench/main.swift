// The program `plugboard-bench`. `plugboard bench` becomes it by `exec`. It also starts
// itself, for two of its servers.

import PlugboardPosix

StandardStream.occupy()
Signals.ignoreBrokenPipes()
exit(BenchProgram.run(Array(CommandLine.arguments.dropFirst())))
