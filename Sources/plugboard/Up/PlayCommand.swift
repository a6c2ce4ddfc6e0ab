// `play`, which `up --demo` uses to show a session. The lines of a script go to the broker as if
// someone typed them, with pauses. Its comments are the narration.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let showDashboard = CommandOption(flag: "dashboard", "first print the dashboard's address")
}

extension Command {
    static let play = Command(
        name: "play",
        group: .make,
        summary: "send the lines of a script to the broker, with pauses",
        parameters: [
            CommandParameter(
                "FILE",
                "a line each: # narration, pause SECONDS, await KEY [SECONDS], or a line for the broker"
            )
        ],
        options: [.showDashboard] + CommandOption.writing.filter { $0.name != CommandOption.json.name },
        details: """
            up --demo shows a session with it. Each line of the script is printed when it is sent. await KEY waits \
            until the key has a value, for ten seconds at most, or as many as are named after the key. If the broker \
            refuses a line, or such a key has no value in time, that is reported and the session goes on. At its end \
            the status is 1. Before that, it waits for the answers of all calls.
            """,
        examples: ["play demo.txt"],
        run: { invocation, console in
            let script = try DemoScript(path: invocation.arguments[0])
            let player = ScriptPlayer(try BrokerConnection.open(invocation), console)
            if invocation.has(.showDashboard) { try player.showDashboard() }
            guard try player.play(script) else { throw CommandError.told }
        }
    )
}

/// A script to play.
struct DemoScript: Equatable, Sendable {
    enum Step: Equatable, Sendable {
        case narrate(String)
        case pause(Double)
        /// Waits until the key has a value, at most for this time.
        case await(key: String, seconds: Double)
        case send(String)
    }

    /// The name of the script's file in the folder of the plugins.
    static let fileName = "demo.txt"
    /// The name of the player in the output.
    static let processName = "demo"
    private static let awaitSeconds = 10.0
    private static let bytesMax = 1_048_576

    let steps: [Step]

    init(path: String) throws {
        let text = String(decoding: try InputFile.contents(path: path, limit: Self.bytesMax), as: UTF8.self)
        do throws(CommandError) {
            try self.init(parsing: text)
        } catch {
            throw CommandError(error.status, "\(path):\(error.message)")
        }
    }

    init(parsing text: String) throws(CommandError) {
        var steps: [Step] = []
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, line) in lines.enumerated() {
            if let step = try Self.step(line, number: index + 1) { steps.append(step) }
        }
        self.steps = steps
    }

    /// `KEY` or `KEY SECONDS`.
    private static func awaiting(_ text: String, number: Int) throws(CommandError) -> Step {
        let words = text.split(separator: " ")
        let seconds = words.count == 2 ? CommandOption.seconds(String(words[1])) : awaitSeconds
        guard let key = words.first, words.count <= 2, let seconds else {
            throw .usage("\(number): await takes a key, and perhaps a number of seconds")
        }
        return .await(key: String(key), seconds: seconds)
    }

    private static func step(_ line: Substring, number: Int) throws(CommandError) -> Step? {
        let words = line.split(separator: " ", maxSplits: 1)
        guard let verb = words.first else { return nil }
        let rest = words.count > 1 ? String(words[1]).trimmingSpaces() : ""
        switch verb {
        case _ where verb.hasPrefix("#"): return .narrate(String(line.drop { $0 == "#" || $0 == " " }))
        case "pause":
            guard let seconds = CommandOption.seconds(rest) else {
                throw .usage("\(number): pause takes a number of seconds")
            }
            return .pause(seconds)
        case "await":
            return try awaiting(rest, number: number)
        default: return .send(String(line))
        }
    }
}

extension String {
    /// The text with another prefix, if it has this one.
    func replacingPrefix(_ prefix: String, with other: String) -> String {
        hasPrefix(prefix) ? other + dropFirst(prefix.count) : self
    }

    /// The text without the spaces at both ends.
    func trimmingSpaces() -> String {
        var rest = Substring(self)
        while rest.last == " " { rest.removeLast() }
        return String(rest.drop { $0 == " " })
    }
}
