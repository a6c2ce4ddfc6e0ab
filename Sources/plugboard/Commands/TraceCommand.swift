// `trace`: shows each write as a small tree of its observers, and each call with what became of it.

import PlugboardPosix
import PlugboardWire

extension Command {
    static let trace = Command(
        name: "trace",
        group: .watch,
        summary: "show live who gets each write or call, and how fast",
        parameters: [
            CommandParameter("PATTERN", "keys or patterns: * is one token, a last ** any number", .several)
        ],
        options: [.json, .count] + CommandOption.observing,
        details: """
            Runs until Ctrl-C. Each write is a line with its time (UTC). Below it are its observers, with \
            one of these outcomes: sent, and after how many microseconds; queued (waits for its turn); \
            conflated (will get the newest value); paused; waiting, for which phase and which observers; \
            filtered; dropped.

            A call is a line when its server is asked, and another when it is answered or has failed, with \
            the time between. A call of a key that nobody serves has failed at once; one that waits until \
            a plugin is running is held.

            --json prints the broker's lines. When the broker goes, the command waits \
            for it; it doesn't show writes made meanwhile.
            """,
        examples: ["trace '**'", "trace 'cart.*' cart --count 10"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let request = try ObjectWriter(op: "trace").adding("keys", strings: invocation.arguments).checked()
        let observation = try ResumingConnection(invocation, console)
        try observation.connection.watchStops()
        try observation.ask(ResumableRequest(request, .trace))
        try observation.connection.watchOutput()
        var pending = PendingOutput(console.output)
        var left = invocation.integer(.count) ?? .max
        while left > 0 {
            if !observation.hasLine { try pending.flush() }
            guard let line = try observation.nextLine(milliseconds: -1) else { continue }
            if line.kind == .event("trace") { left -= 1 }
            if invocation.has(.json) {
                try pending.add(json: line.bytes)
            } else {
                let time = TimeOfDay.now()
                for text in TraceText.lines(of: line, at: time, console.output.paint) {
                    try pending.add(line: text)
                }
            }
        }
        try pending.flush()
    }
}

/// A trace for a person.
enum TraceText {
    /// The write, and a line for each observer. Empty for lines of another kind.
    static func lines(of line: BrokerLine, at time: String, _ paint: Paint) -> [String] {
        switch line.kind {
        case .event("trace") where line["op"]?.string == "call": return [call(line, time, paint)]
        case .event("trace"): return tree(line, time, paint)
        case .event("lagged"):
            return [paint.red("\(line["dropped"]?.text ?? "?") writes were too many to be traced")]
        default: return []
        }
    }

    private static func tree(_ line: BrokerLine, _ time: String, _ paint: Paint) -> [String] {
        let key = paint.bold(Printable.text(line["key"]?.string ?? ""))
        let writer = WriterText.of(line["by"], line["origin"])
        let head =
            "\(paint.dim(time))  \(key)  \(line["op"]?.string ?? "") by \(writer)  \(place(of: line, paint))"
        var observers = (line["observers"]?.array ?? []).compactMap(\.object).map { text(of: $0, paint) }
        if line["more"]?.bool == true { observers.append("and more") }
        if observers.isEmpty { observers = [paint.yellow("nobody observes it")] }
        let branches = observers.enumerated().map { index, text in
            (index == observers.count - 1 ? "└ " : "├ ") + text
        }
        return [head] + branches.map { "  " + $0 }
    }

    /// `revision 7, because of 3`.
    private static func place(of line: BrokerLine, _ paint: Paint) -> String {
        let cause = line["cause"].map { ", because of \($0.text)" } ?? ""
        return paint.dim("revision \(line["revision"]?.text ?? "?")\(cause)")
    }

    /// `cart.add  call 7 by #3  answered by cart (client 1) after 120 µs`.
    private static func call(_ line: BrokerLine, _ time: String, _ paint: Paint) -> String {
        let key = paint.bold(Printable.text(line["key"]?.string ?? ""))
        let number = line["call"]?.string.map { " \(Printable.text($0))" } ?? ""
        let caller = Printable.text(line["by"]?.string ?? "?")
        let outcome = Printable.text(line["outcome"]?.string ?? "?")
        let error = line["code"]?.string.map { ": \(Printable.text($0))" } ?? ""
        let server = line["server"]?.object.map { server in
            let preposition = outcome == "asked" ? "of" : "by"
            return " \(preposition) \(ObserverText.name(server)) (client \(server["client"]?.text ?? "?"))"
        }
        let after = line["microseconds"]?.integer.map {
            " after \(Amount.duration(microseconds: Double($0)))"
        }
        let shown =
            outcome == "failed"
            ? paint.red(outcome + error)
            : outcome == "answered" ? paint.green(outcome) : paint.yellow(outcome)
        // What the server writes names the revision at which it was asked.
        let rest = outcome == "asked" ? "  \(place(of: line, paint))" : after ?? ""
        return "\(paint.dim(time))  \(key)  call\(number) by \(caller)  \(shown)\(server ?? "")\(rest)"
    }

    private static func text(of observer: JSONObject, _ paint: Paint) -> String {
        let after = observer["microseconds"].map { " after \($0.text) µs" } ?? ""
        let sub = Printable.json(observer["sub"]?.bytes ?? [])
        let outcome = ObserverText.outcome(observer, paint)
        return "\(paint.bold(ObserverText.name(observer)))  sub \(sub)  \(outcome)\(after)"
    }
}
