// `plugins log --follow`: asks `up` for what a plugin has printed since the last answer, and prints it with
// times and a mark where a run began. It waits for a bus that is gone, as other commands that run until they
// are stopped.

import PlugboardPosix
import PlugboardWire

/// Follows the output of one plugin.
struct PluginFollower {
    /// The time between two questions.
    static let pauseSeconds = 0.2

    private let name: String
    private let linesMax: Int?
    private let invocation: Invocation
    private let console: CommandConsole
    /// The number of the last entry that was shown; 0 before the first answer.
    private var next: UInt64 = 0

    init(_ name: String, linesMax: Int?, _ invocation: Invocation, _ console: CommandConsole) {
        self.name = name
        self.linesMax = linesMax
        self.invocation = invocation
        self.console = console
    }

    /// Runs until a signal comes.
    mutating func run() throws {
        let connection = try BrokerConnection.open(invocation)
        try connection.watchStops()
        try connection.watchOutput()
        while true {
            do {
                try show(try ask(connection))
                try pause(connection)
            } catch let error as CommandError where connection.isLost && !invocation.has(.noReconnect) {
                console.say(ResumingConnection.News.apart(reason: error.message).text)
                try comeBack(connection)
            }
        }
    }

    private func ask(_ connection: BrokerConnection) throws -> JSONObject {
        let value = ObjectWriter().adding("plugin", string: name).adding("after", next)
        let request = ObjectWriter(op: "call").adding("key", string: PluginKey.call(.log))
            .adding("value", json: value.bytes)
        let reply = try connection.request(request)
        switch reply.kind {
        case .error("no_provider") where next == 0: throw PluginError.noSupervisor(connection.path)
        case .error("no_provider"), .error("provider_gone"):
            // It was there. When it ends, the broker goes a moment later, and the next one may come.
            connection.leave()
            throw CommandError(.unavailable, "up has ended")
        default: break
        }
        if let refusal = reply.refusal { throw refusal }
        guard let object = reply["value"]?.object else {
            throw CommandError(.refused, "up doesn't tell what it printed: it is of an older version")
        }
        return object
    }

    private mutating func show(_ answer: JSONObject) throws {
        let isFirst = next == 0
        next = answer["next"]?.integer ?? next
        var entries = answer["entries"]?.array?.compactMap(\.object) ?? []
        if isFirst, let linesMax { entries = Array(entries.suffix(linesMax)) }
        var pending = PendingOutput(console.output)
        if let missing = answer["missing"]?.integer {
            if invocation.has(.json) {
                try pending.add(json: ObjectWriter().adding("missing", missing).bytes)
            } else {
                let text = "-- \(Plural.lines(missing)) missing here --"
                try pending.add(line: console.output.paint.yellow(text))
            }
        }
        for entry in entries {
            if invocation.has(.json) {
                let text = entry.members.reduce(ObjectWriter()) { $0.adding($1.name, json: $1.value.bytes) }
                try pending.add(json: text.bytes)
            } else {
                try pending.add(line: Self.text(entry, console.output.paint))
            }
        }
        try pending.flush()
    }

    /// `12:03:04.123  a line`, or `12:03:04.120  -- run 2 begins, pid 4711 --`.
    static func text(_ entry: JSONObject, _ paint: Paint) -> String {
        // `2026-11-23T12:03:04.123Z`: the time of day.
        let time = (entry["at"]?.string ?? "").drop { $0 != "T" }.dropFirst().dropLast()
        let start = paint.dim(Printable.text(String(time))) + "  "
        if let line = entry["line"]?.string { return start + Printable.text(line) }
        let pid = entry["pid"].map { ", pid \($0.text)" } ?? ""
        return start + paint.bold("-- run \(entry["run"]?.text ?? "?") begins\(pid) --")
    }

    private func pause(_ connection: BrokerConnection) throws {
        let due = TimeLimit(seconds: Self.pauseSeconds)
        while let left = due.milliseconds { _ = try connection.nextLine(milliseconds: left) }
    }

    /// Connects again as soon as there is a broker with an `up`.
    private mutating func comeBack(_ connection: BrokerConnection) throws {
        connection.leave()
        while true {
            let due = TimeLimit(seconds: Self.pauseSeconds)
            while let left = due.milliseconds { try connection.rest(milliseconds: left) }
            do {
                try connection.connectAgain()
                try connection.expectGreeting()
                let answer = try ask(connection)
                console.say("the broker is back")
                return try show(answer)
            } catch is CommandError where connection.isLost {
                connection.leave()
            }
        }
    }
}

/// The errors of calls to `up`.
enum PluginError {
    static func noSupervisor(_ path: String) -> CommandError {
        CommandError(.unavailable, "the broker at \(path) has no plugins: plugboard up didn't start it")
    }
}
