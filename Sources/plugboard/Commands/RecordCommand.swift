// `record`: writes what happens on the bus to a file that `replay` can play.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let chrome = CommandOption(
        "chrome", "FILE", "instead write a trace into FILE, which Perfetto and Chrome open"
    )
}

extension Command {
    static let record = Command(
        name: "record",
        group: .make,
        summary: "write down a session, for replay to play again",
        parameters: [
            CommandParameter("PATTERN", "keys or patterns: * is one token, a last ** any number", .several)
        ],
        options: [.chrome, .noInitial, .count] + CommandOption.observing,
        details: """
            Writes JSON lines to standard output until Ctrl-C or SIGTERM, each as soon as it arrives. The \
            first line says what is recorded, {"recording":1,"patterns":[…],…}. The others are the \
            broker's own lines, each with the milliseconds since the start as ms in front: the current \
            values at the start ("initial":true), "synced", then every update, delete and emit. For each \
            call of the keys there are the lines of trace: when its server is asked, and when it is over.

            If events come faster than record can write them, updates of a key are folded into the last \
            one, which says so ("skipped"). So the state at the end is right. The file has everything that \
            happened before Ctrl-C. Standard error says how much that was.

            When the broker goes, record waits for it and continues where it was. "synced" shows where it \
            has caught up. Emits from the time in between are lost. If the broker doesn't know what was \
            written meanwhile, a line says so, {"ms":…,"event":"gap",…}; then come the current values, and \
            a delete for each key that is gone. With --no-reconnect the file ends with the broker, and the \
            status is 69.

            With --chrome nothing goes to standard output. The trace has a lane for each writer, a slice \
            for each event and each call at the time at which it came, and arrows from causes to effects. \
            Open it in ui.perfetto.dev or chrome://tracing. It can't be replayed. A link, a device or a pipe \
            in the place of its file isn't replaced: the status is 1.
            """,
        examples: [
            "record 'cart.**' screen > session.ndjson", "record '**' --chrome session.json",
            #"record '**' | jq -c 'select(.event == "emit")'"#,
        ],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let request = ObjectWriter(op: "subscribe")
            .adding("keys", strings: invocation.arguments)
            // The first phase: so changes are recorded when they happen, even if other observers hold back
            // later phases.
            .adding("phase", 0)
            .adding("initial", !invocation.has(.noInitial), unless: true)
        let standing = ResumableRequest(
            try request.checked(), .subscription(hasInitial: !invocation.has(.noInitial))
        )
        let observation = try ResumingConnection(invocation, console)
        let signals = try Signals(catching: [SIGINT, SIGTERM, SIGHUP])
        let reply = try observation.ask(standing)
        if observation.connection.offers("only") {
            let calls = ObjectWriter(op: "trace").adding("keys", strings: invocation.arguments)
                .adding("only", string: "calls")
            try observation.ask(ResumableRequest(calls, .besides))
        }
        if !invocation.has(.chrome) { try observation.connection.watchOutput() }
        try observation.connection.watch(signals.raw)
        var recorder = Recorder(
            console: console, trace: try invocation.text(.chrome).map { try ChromeTrace(path: $0) }
        )
        try recorder.begin(
            header: Recording.header(
                patterns: invocation.arguments,
                revision: reply["revision"]?.integer,
                greeting: observation.connection.greeting,
                milliseconds: WallClock.millisecondsSince1970()
            )
        )
        if console.messages.isTerminal { console.say("recording; Ctrl-C ends") }
        do {
            try record(until: invocation.integer(.count), observation, signals, &recorder)
        } catch let error as CommandError {
            try recorder.flush()
            try recorder.finish()
            tell(recorder, console)
            throw error
        }
        try recorder.finish()
        tell(recorder, console)
    }

    private static func record(
        until count: UInt64?, _ observation: ResumingConnection, _ signals: Signals,
        _ recorder: inout Recorder
    ) throws {
        var left = count ?? .max
        do {
            while left > 0 {
                guard let line = try next(observation, &recorder, milliseconds: -1) else { continue }
                if try recorder.take(line) { left -= 1 }
            }
        } catch is Interrupted {
            try finish(observation, signals, &recorder)
        }
        try recorder.flush()
    }

    /// Records everything up to this moment: it sends a request now, and everything until then comes before
    /// the reply, also what somebody holds by a pause. It doesn't wait after a second Ctrl-C, and not for a
    /// broker that is gone.
    private static func finish(
        _ observation: ResumingConnection, _ signals: Signals, _ recorder: inout Recorder
    ) throws {
        var wish = StopRequest()
        _ = wish.takeAll(of: signals)
        try observation.release()
        try observation.send(ObjectWriter(op: "sync"))
        // As long as lines come, it waits for the reply, however many are before it.
        var deadline = TimeLimit(seconds: BrokerConnection.timeoutSeconds)
        while let left = deadline.milliseconds, observation.hasLine || !observation.isApart {
            do {
                guard let line = try next(observation, &recorder, milliseconds: left) else { continue }
                if line.kind == .ok("sync") { return }
                _ = try recorder.take(line)
                deadline = TimeLimit(seconds: BrokerConnection.timeoutSeconds)
            } catch is Interrupted {
                if wish.takeAll(of: signals) { return }
            }
        }
    }

    /// The next line. Before it waits, it writes all lines that it has.
    private static func next(
        _ observation: ResumingConnection, _ recorder: inout Recorder, milliseconds: Int32
    ) throws -> BrokerLine? {
        if observation.hasLine { return try observation.nextLine(milliseconds: 0) }
        try recorder.flush()
        defer { recorder.stamp() }
        return try observation.nextLine(milliseconds: milliseconds)
    }

    private static func tell(_ recorder: Recorder, _ console: CommandConsole) {
        if console.messages.isTerminal { try? console.messages.bytes([0x0D]) }
        console.say("recorded \(recorder.summary)")
        if recorder.gaps > 0 {
            console.say(
                "\(recorder.gaps) \(recorder.gaps == 1 ? "gap" : "gaps"): what happened there isn't known"
            )
        }
        if recorder.missing > 0 {
            console.say(
                "\(Plural.events(recorder.missing)) folded into later ones: they came faster than they were written"
            )
        }
    }
}
