// `bench` runs a program of its own, so that building the bus does not build the bench.

import PlugboardPosix

/// The program of `bench`. The packages don't have it.
enum InstalledBench {
    static let path = ProgramPath.current().map { SocketPath.folder(of: $0) + "/plugboard-bench" }

    static let isHere = path.map { FileStatus.isRunnable(path: $0) } == true
}

extension Command {
    static let bench = Command(
        name: "bench",
        group: .make,
        summary: "measure a broker that it starts itself",
        takesWordsAsTheyAre: true,
        run: { invocation, _ in
            guard let program = InstalledBench.path, InstalledBench.isHere else {
                throw CommandError(
                    .unavailable,
                    "bench is a program of its own, and \(InstalledBench.path ?? "it") isn't there",
                    hints: ["in a checkout: swift build -c release"]
                )
            }
            throw CommandError(
                .refused, "\(ProgramImage.replace(by: program, arguments: invocation.arguments))"
            )
        }
    )
}
