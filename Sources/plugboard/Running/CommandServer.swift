// Answers the calls of a key for `serve`: takes calls, runs the command for each, and returns what it wrote.
// Every call that came gets one answer, unless the broker goes.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// A server whose answers come from commands.
struct CommandServer {
    /// A call that waits or is being answered.
    private struct Call {
        let line: BrokerLine
        let name: String
        /// Until when its caller waits; nil if an older broker doesn't say so.
        let limit: TimeLimit?
        /// How often the broker had come back when it came. An answer is for the same connection.
        let era: Int
    }

    /// More calls than these get the error `busy`.
    private static let waitingMax = 256
    private static let messageCharactersMax = 1_000
    /// How long calls that have come are still begun when it is asked to stop.
    private static let lastSeconds = 1.0

    private let key: String
    private let program: CommandProgram
    private let console: CommandConsole
    private let isRaw: Bool
    private let tellsReady: Bool
    private let observation: ResumingConnection
    private let eras = Eras()
    private var signals: RunSignals
    private var runs: CommandRuns<Call>
    private var waiting: ArraySlice<Call> = []
    /// Until when calls are begun, and until when the broker may take to send the last ones; nil until it is asked to
    /// stop.
    private var end: (begins: TimeLimit, calls: TimeLimit)?
    /// Calls may still come.
    private var isServing = true

    /// Counts how often the broker has come back.
    private final class Eras {
        var count = 0
    }

    init(
        _ key: String,
        _ program: CommandProgram,
        _ connection: BrokerConnection,
        _ invocation: Invocation,
        _ console: CommandConsole
    ) throws {
        self.key = key
        self.program = program
        self.console = console
        isRaw = invocation.has(.raw)
        tellsReady = invocation.has(.ready)
        signals = try RunSignals(connection)
        runs = CommandRuns(jobs: Int(clamping: invocation.integer(.jobs) ?? 1), connection) {
            Self.tell($0, $1, console)
        }
        observation = ResumingConnection(connection, comesBack: !invocation.has(.noReconnect)) { [eras] in
            if case .back = $0 { eras.count += 1 }
            console.say($0.text)
        }
    }

    /// Serves until it is asked to stop.
    mutating func run(_ request: ObjectWriter) throws {
        defer { runs.kill() }
        do {
            let reply = try observation.ask(ResumableRequest(request, .plain))
            if reply["spare"]?.bool == true {
                console.say("waiting in line for \(key); Ctrl-C ends")
            } else {
                try tellServing(isTold: console.messages.isTerminal)
            }
            try serve()
        } catch is Interrupted {
            return
        } catch let error as CommandError {
            try runs.finish(&signals)
            throw error
        }
    }

    private func tellServing(isTold: Bool) throws {
        if tellsReady { try console.output.line(BrokerReady.line) }
        if isTold { console.say("serving \(key); Ctrl-C ends") }
    }

    private mutating func serve() throws {
        while isServing || !runs.isEmpty || !waiting.isEmpty {
            if end != nil, observation.isApart { return try runs.finish(&signals) }
            do {
                let line = try observation.nextLine(milliseconds: runs.milliseconds(atMost: callMilliseconds))
                if let line { try take(line) }
            } catch is Interrupted {
                try interrupted()
            }
            for (call, result) in runs.collect() { try answer(call, result) }
            if end?.begins.isOver == true { try refuseWaiting() }
            if end?.calls.isOver == true { isServing = false }
            try begin()
        }
        try settle()
    }

    /// How long calls may still wait or come, in milliseconds; -1 if for ever, or if there are none.
    private var callMilliseconds: Int32 {
        guard let end, isServing || !waiting.isEmpty else { return -1 }
        return (waiting.isEmpty ? end.calls : end.begins).milliseconds ?? 0
    }

    /// Waits until the broker has all answers.
    private mutating func settle() throws {
        while !observation.isApart {
            do {
                _ = try observation.connection.accepted(ObjectWriter(op: "sync"))
                return
            } catch is Interrupted {
                if signals.take() { return }
            }
        }
    }

    /// Takes the signals. Throws `Interrupted` if running commands aren't waited for.
    private mutating func interrupted() throws {
        if signals.take() { throw Interrupted() }
        guard signals.isStopping, end == nil else { return }
        end = (TimeLimit(seconds: Self.lastSeconds), TimeLimit(seconds: BrokerConnection.timeoutSeconds))
        try observation.send(ObjectWriter(op: "unserve").adding("key", string: key))
    }

    private mutating func refuseWaiting() throws {
        for call in waiting { try fail(call, "stopping", "the server ends, and has not begun this call") }
        waiting = []
    }

    private mutating func take(_ line: BrokerLine) throws {
        if let refusal = line.refusal { return console.say(refusal.message) }
        // No call follows this.
        if line.kind == .ok("unserve") { return isServing = false }
        if line.kind == .event("serving") { return try tellServing(isTold: true) }
        guard line.kind == .event("call"), let name = line["call"]?.string else { return }
        let limit = line["timeout"]?.integer.map { TimeLimit(seconds: Double($0) / 1_000) }
        let call = Call(line: line, name: name, limit: limit, era: eras.count)
        if waiting.count >= Self.waitingMax { waiting.removeAll { $0.limit?.isOver == true } }
        guard waiting.count < Self.waitingMax else {
            return try fail(call, "busy", "\(Self.waitingMax) calls are waiting already")
        }
        waiting.append(call)
    }

    /// Starts commands as long as there is room.
    private mutating func begin() throws {
        while runs.hasRoom, let call = waiting.popFirst() {
            // Otherwise its caller has got an error already.
            guard call.era == eras.count, call.limit?.isOver != true else { continue }
            do {
                try runs.begin(
                    call,
                    program.start(for: call.line, "call", cause: cause(call)),
                    input: input(call),
                    limit: call.limit.map { Double($0.milliseconds ?? 0) / 1_000 }
                )
            } catch let error as SystemError {
                tell(call, "\(error)")
                try fail(call, "failed", "\(error)")
            }
        }
    }

    /// What the command's writes name as their cause: the call. An older broker doesn't say its revision.
    private func cause(_ call: Call) -> UInt64? {
        call.line["revision"]?.integer ?? call.line["cause"]?.integer
    }

    private func input(_ call: Call) -> [UInt8] {
        call.line["value"].map { CommandText.input($0, isRaw: isRaw) } ?? []
    }

    private func answer(_ call: Call, _ result: RunResult) throws {
        guard result.isGood else {
            tell(call, result.text)
            let words = CommandText.string(result.output) ?? ""
            let message = words.isEmpty || result.isOverlong ? result.text : words
            return try fail(call, "failed", String(message.prefix(Self.messageCharactersMax)))
        }
        let value: ArraySlice<UInt8>
        do throws(JSONFault) {
            value = try CommandText.value(result.output, isRaw: isRaw)
        } catch {
            tell(call, "the output is \(error.message), at byte \(error.offset)")
            return try fail(call, "bad_answer", "the command's output is \(error.message)")
        }
        guard value.count <= Limits.valueBytesMax else {
            return try fail(call, "too_long", "the answer is longer than a value may be")
        }
        try send(call, Self.reply(call).adding("value", json: value))
    }

    private func fail(_ call: Call, _ code: String, _ message: String) throws {
        let error = ObjectWriter().adding("code", string: code).adding("message", string: message)
        try send(call, Self.reply(call).adding("error", json: error.bytes))
    }

    /// An answer to a call that came before a break has no reader any more.
    private func send(_ call: Call, _ reply: ObjectWriter) throws {
        if call.era == eras.count { try observation.send(reply) }
    }

    private static func reply(_ call: Call) -> ObjectWriter {
        ObjectWriter(op: "return").adding("call", string: call.name)
    }

    private func tell(_ call: Call, _ text: String) { Self.tell(call, text, console) }

    private static func tell(_ call: Call, _ text: String, _ console: CommandConsole) {
        console.say("\(SystemText.ofPlain(call.line["key"]?.string ?? "?")): \(text)")
    }
}
