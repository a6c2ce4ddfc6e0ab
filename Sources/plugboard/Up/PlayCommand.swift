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
            the status is 1.
            """,
        examples: ["play demo.txt"],
        run: { invocation, console in
            let script = try DemoScript(path: invocation.arguments[0])
            let player = Player(connection: try BrokerConnection.open(invocation), console: console)
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

/// Plays a script over a connection.
private struct Player {
    let connection: BrokerConnection
    let console: CommandConsole

    /// The demo goes on without it.
    func showDashboard() throws {
        do {
            guard let address = try DashboardPage.address(connection) else { return }
            try console.output.line("# All of it in a browser:")
            try console.output.line(address)
        } catch let error as CommandError where !connection.isLost {
            console.say("no dashboard: \(error.message)")
        }
    }

    /// Returns whether the broker accepted all lines, and all awaited keys came.
    func play(_ script: DemoScript) throws -> Bool {
        var isGood = true
        for step in script.steps {
            switch step {
            case .narrate(let text): try console.output.line("# " + text)
            case .pause(let seconds): Pause.sleep(seconds: seconds)
            case .await(let key, let seconds):
                isGood = try bridging { try wait(for: key, seconds: seconds) } && isGood
            case .send(let line):
                try console.output.line("> " + line)
                isGood = try bridging { try send(line) } && isGood
            }
        }
        return isGood
    }

    /// Repeats something on another connection if the broker was replaced meanwhile.
    private func bridging(_ body: () throws -> Bool) throws -> Bool {
        do {
            return try body()
        } catch is CommandError where connection.isLost {
            try comeBack(before: TimeLimit(seconds: Self.patienceSeconds))
            return try body()
        }
    }

    private static let patienceSeconds = 10.0
    private static let pauseSeconds = 0.05

    private func comeBack(before deadline: TimeLimit) throws {
        connection.leave()
        while true {
            do {
                try connection.connectAgain()
                _ = try connection.expectGreeting()
                return
            } catch let error as CommandError where connection.isLost {
                guard deadline.milliseconds != nil else { throw error }
                Pause.sleep(seconds: Self.pauseSeconds)
            }
        }
    }

    /// Returns whether the broker accepted it.
    private func send(_ line: String) throws -> Bool {
        try connection.send(Array("\(line)\n".utf8))
        try connection.send(ObjectWriter(op: "sync").adding("id", string: "played").line)
        var isAccepted = true
        while true {
            let reply = try connection.nextLine()
            if reply.kind == .ok("sync") { return isAccepted }
            guard let refusal = reply.refusal else { continue }
            console.say(refusal.message)
            isAccepted = false
        }
    }

    /// If the key doesn't come, reports that and returns false, so that the demo doesn't hang.
    private func wait(for key: String, seconds: Double) throws -> Bool {
        _ = try connection.accepted(
            ObjectWriter(op: "subscribe").adding("key", string: key).adding("sub", string: "await")
        )
        let deadline = TimeLimit(seconds: seconds)
        var isThere = false
        while !isThere, let left = deadline.milliseconds {
            let line = try connection.nextLine(milliseconds: left)
            isThere = line?.kind == .event("update") && line?["sub"]?.string == "await"
        }
        if !isThere { console.say("\(key) has no value after \(Amount.seconds(seconds)); going on") }
        _ = try connection.accepted(ObjectWriter(op: "unsubscribe").adding("sub", string: "await"))
        return isThere
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
