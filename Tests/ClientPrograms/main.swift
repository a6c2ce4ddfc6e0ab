// Small programs with the client library, which tests run as processes of their own.
// Signals, exit status and descriptors concern a whole process, so they can't be tested
// inside one.

import PlugboardClient

switch CommandLine.arguments.dropFirst().first {
case "greeter": await greeter()
case "looper": await looper()
case "service": try await service()
case "by-hand": try await byHand()
case "talker": await talker()
case "leaks": try await leaks()
default: print("usage: client-programs greeter|looper|service|by-hand|talker|leaks")
}
