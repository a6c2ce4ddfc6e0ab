// `bench` runs a program of its own, so that building the bus does not build the bench.

import PlugboardPosix

extension Command {
    static let bench = Command(
        name: "bench",
        group: .about,
        summary: "measure a broker that it starts itself",
        takesWordsAsTheyAre: true,
        run: { invocation, _ in
            let program = SocketPath.folder(of: try ownProgram()) + "/plugboard-bench"
            guard FileStatus.isRunnable(path: program) else {
                throw CommandError(
                    .unavailable,
                    "bench is a program of its own, and \(program) isn't there",
                    hints: ["in a checkout: swift build -c release"]
                )
            }
            throw CommandError(
                .refused,
                "\(ProgramImage.replace(by: program, arguments: invocation.arguments))"
            )
        }
    )
}
