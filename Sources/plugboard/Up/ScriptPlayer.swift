// Plays a script over a connection. Each line is sent when the one before it has been read. The answer of a call
// may come later, so calls are remembered until then. Used by one thread.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// Plays one script.
final class ScriptPlayer {
    private static let patienceSeconds = 10.0
    private static let pauseSeconds = 0.05
    /// The `id` of the player's own requests.
    private static let ownID = "plugboard play"

    private let connection: BrokerConnection
    private let console: CommandConsole
    /// The calls that aren't answered yet.
    private var calls: [ScriptCall] = []
    /// The keys of answers without an `id`. Where several calls of a key wait, nobody knows whose each is.
    private var answered: [String] = []
    /// Whether the broker has accepted all lines, and all awaited keys came.
    private var isGood = true

    init(_ connection: BrokerConnection, _ console: CommandConsole) {
        self.connection = connection
        self.console = console
    }

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
        for step in script.steps {
            switch step {
            case .narrate(let text): try console.output.line("# " + text)
            case .pause(let seconds): Pause.sleep(seconds: seconds)
            case .await(let key, let seconds): try bridging { try wait(for: key, seconds: seconds) }
            case .send(let line):
                try console.output.line("> " + line)
                try bridging { try send(line) }
            }
        }
        try bridging(finish)
        return isGood
    }

    /// Repeats something on another connection if the broker was replaced meanwhile.
    private func bridging(_ body: () throws -> Void) throws {
        let earlier = calls.count
        do {
            try body()
        } catch is CommandError where connection.isLost {
            for call in calls.prefix(earlier) {
                complain("\(call.words): the connection with its answer was lost")
            }
            (calls, answered) = ([], [])
            try comeBack(before: TimeLimit(seconds: Self.patienceSeconds))
            try body()
        }
    }

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

    /// Sends a line, and takes what comes until the broker has read it.
    private func send(_ line: String) throws {
        try connection.send(Array("\(line)\n".utf8))
        connection.linesSent += 1
        if let call = ScriptCall(line, number: connection.linesSent) { calls.append(call) }
        _ = try ask(own("sync"))
    }

    /// Waits for a key. If it doesn't come, reports that, so that the demo doesn't hang.
    private func wait(for key: String, seconds: Double) throws {
        let name = "await"
        guard try ask(own("subscribe").adding("key", string: key).adding("sub", string: name)) else { return }
        let deadline = TimeLimit(seconds: seconds)
        var isThere = false
        while !isThere, let left = deadline.milliseconds {
            guard let line = try connection.nextLine(milliseconds: left) else { continue }
            take(line)
            isThere = line.kind == .event("update") && line["sub"]?.string == name
        }
        if !isThere {
            complain("\(SystemText.ofPlain(key)) has no value after \(Amount.seconds(seconds)); going on")
        }
        _ = try ask(own("unsubscribe").adding("sub", string: name))
    }

    /// Waits for the answers of the calls. When the time of a call is over, the broker refuses it.
    private func finish() throws {
        while let call = calls.first {
            if let left = call.deadline.milliseconds {
                if let line = try connection.nextLine(milliseconds: left) { take(line) }
            } else {
                calls.removeFirst()
                complain("\(call.words): no answer from the broker")
            }
        }
    }

    private func own(_ operation: String) -> ObjectWriter {
        ObjectWriter(op: operation).adding("id", string: Self.ownID)
    }

    /// Makes a request of the player's own, and takes what comes before its reply. Returns whether the broker
    /// has accepted it.
    private func ask(_ request: ObjectWriter) throws -> Bool {
        try connection.send(request.line)
        connection.linesSent += 1
        while true {
            let line = try connection.nextLine()
            take(line)
            if line["id"]?.string == Self.ownID { return line.refusal == nil }
        }
    }

    /// Takes the answer of a call out of those that are missing, and reports a refusal.
    private func take(_ line: BrokerLine) {
        let place = calls.firstIndex { $0.isAnswered(by: line) }
        let call = place.map { calls.remove(at: $0) }
        if call == nil, let key = ScriptCall.answeredKey(line) { answered.append(key) }
        for key in Set(answered) {
            let missing = calls.count { $0.waits(for: key) }
            if answered.count(where: { $0 == key }) < missing { continue }
            calls.removeAll { $0.waits(for: key) }
            answered.removeAll { $0 == key }
        }
        guard let refusal = line.refusal else { return }
        complain((call.map { "\($0.words): " } ?? "") + refusal.message)
    }

    private func complain(_ text: String) {
        console.say(text)
        isGood = false
    }
}

/// A call in a script, until its answer has come.
private struct ScriptCall {
    /// When the broker must have answered it.
    let deadline: TimeLimit
    private let key: String
    /// Its `id` as it was written; nil if it has none.
    private let id: String?
    /// The number of its line on the connection.
    private let number: Int

    /// Nil if a line is no call, or one that the broker refuses at once.
    init?(_ line: String, number: Int) {
        var decoder = RequestDecoder()
        var request = Request()
        var bytes = Array(line.utf8)
        var span = bytes.mutableSpan
        guard (try? decoder.decode(&span, into: &request)) != nil, request.operation == .call else {
            return nil
        }
        key = String(request.key.bytes(of: bytes.span))
        id = request.has(.id) ? String(request.id.bytes(of: bytes.span)) : nil
        self.number = number
        deadline = TimeLimit(
            seconds: Double(decoder.options.timeout) / 1_000 + BrokerConnection.timeoutSeconds)
    }

    /// For messages.
    var words: String { "call \(SystemText.ofPlain(key))" }

    /// Whether a line is its answer. Without an `id`, an error has the number of its line, and an answer only its key.
    func isAnswered(by line: BrokerLine) -> Bool {
        if let id { return line["id"]?.text == id }
        return line.refusal != nil && line["line"]?.integer == UInt64(number)
    }

    func waits(for key: String) -> Bool { id == nil && self.key == key }

    /// The key of an answer without an `id`; nil if a line is none.
    static func answeredKey(_ line: BrokerLine) -> String? {
        line.kind == .ok("call") && line["id"] == nil ? line["key"]?.string : nil
    }
}
