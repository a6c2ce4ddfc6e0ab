// Runs programs as a shell does, with their three streams in files.

import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

/// How a program ended, and what it wrote.
struct Finished {
    let end: ChildEnd
    let output: String
    let messages: String

    var lines: [String] { output.split(separator: "\n").map(String.init) }
}

/// A program in the background, in the folder of its test.
final class Run {
    private let folder: TemporaryFolder
    private let name: String
    private var child: ChildProcess
    private(set) var end: ChildEnd?

    /// Starts a program with these arguments. Its output may go to a terminal, and its input may come
    /// from there.
    init(
        program: String = Products.plugboard,
        _ arguments: [String],
        in folder: TemporaryFolder,
        input: String = "",
        environment: [String: String] = [:],
        terminal: String? = nil,
        typing: Bool = false
    ) throws {
        self.folder = folder
        let name = "run\(Counter.next())"
        self.name = name
        let input = try (typing ? terminal : nil) ?? folder.write("\(name).in", input)
        let files = ["out", "err"].map { terminal ?? "\(folder.path)/\(name).\($0)" }
        let start = ChildStart(
            program: "/bin/sh",
            arguments: ["-c", #"in=$1 out=$2 err=$3; shift 3; exec "$@" <"$in" >"$out" 2>"$err""#, "sh"]
                + [input] + files + [program] + arguments,
            environment: Self.environment(
                environment.merging([
                    "PLUGBOARD_SOCKET": folder.socket, "XDG_STATE_HOME": "\(folder.path)/state",
                ]) { own, _ in own }
            ),
            folder: folder.path
        )
        child = try ChildProcess(starting: start)
    }

    var pid: Int32 { child.pid }
    var output: String { folder.text("\(name).out") }
    var messages: String { folder.text("\(name).err") }

    func signal(_ number: Int32) {
        kill(child.pid, number)
    }

    /// Waits for its end.
    func finished(seconds: Double = HangGuard.seconds, _ location: SourceLocation = #_sourceLocation) throws
        -> Finished
    {
        try eventually("\(name) ends", seconds: seconds, location) {
            if let end = self.child.end() { self.end = end }
            return self.end != nil
        }
        return Finished(end: try #require(end), output: output, messages: messages)
    }

    var isRunning: Bool {
        if end == nil, let end = child.end() { self.end = end }
        return end == nil
    }

    /// The variables for programs in tests: no broker of the user, and no unexpected colours.
    private static func environment(_ changes: [String: String]) -> [String] {
        let dropped = ["PLUGBOARD_", "XDG_RUNTIME_DIR=", "XDG_STATE_HOME=", "NO_COLOR=", "TERM="]
        let kept = Environment.all().filter { variable in !dropped.contains { variable.hasPrefix($0) } }
        let usual = HangGuard.variables.merging(["TERM": "xterm"]) { own, _ in own }
        return kept + usual.merging(changes) { _, change in change }.map { "\($0.key)=\($0.value)" }
    }
}

/// Runs `plugboard` to its end.
func plugboard(
    _ arguments: String...,
    in folder: TemporaryFolder,
    input: String = "",
    environment: [String: String] = [:],
    location: SourceLocation = #_sourceLocation
) throws -> Finished {
    try Run(arguments, in: folder, input: input, environment: environment).finished(location)
}

/// Starts a broker and waits until it listens.
func startBroker(in folder: TemporaryFolder, _ arguments: String...) throws -> Run {
    let broker = try Run(["broker", "--ready", "--socket", folder.socket] + arguments, in: folder)
    try eventually("the broker listens") { broker.output == "ready\n" }
    return broker
}
