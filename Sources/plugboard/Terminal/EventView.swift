// Prints events as lines: unchanged for a program, in columns for a person.

import PlugboardPosix
import PlugboardWire

/// Prints the events of one subscription.
struct EventView {
    /// How many characters of a value a line for a person shows.
    private static let valueCharactersMax = 2_000
    private static let keyColumnsMax = 32

    private let console: CommandConsole
    private let isReadable: Bool
    private let form: ValueForm?
    private var pending: PendingOutput
    private var widest = 0
    private var initial = 0
    private var isGreeted = false

    /// With a `form` that isn't plain, it prints only values.
    init(console: CommandConsole, asJSON: Bool, form: ValueForm? = nil) {
        self.console = console
        self.form = form.flatMap { $0.isPlain ? nil : $0 }
        pending = PendingOutput(console.output)
        isReadable = console.output.isTerminal && !asJSON
    }

    /// Writes the collected lines before the next wait.
    mutating func flush() throws {
        try pending.flush()
    }

    /// Takes a line from the broker. Returns true if it was a change or a value.
    mutating func show(_ line: BrokerLine) throws -> Bool {
        guard case .event(let name) = line.kind else { return false }
        if let form { return try show(form, name, line) }
        guard isReadable else {
            try pending.add(json: line.bytes)
            return name != "synced" && name != "gap"
        }
        if name == "synced" {
            try pending.flush()
            if !isGreeted { greet() }
            isGreeted = true
            return false
        }
        // Standard error has a message about it already.
        if name == "gap" { return false }
        try pending.add(line: readable(name, line, at: TimeOfDay.now()))
        return true
    }

    /// Prints only the value of an `update` or `emit`, or a line of its own format for each event of a key.
    /// The broker sends a single part in `fields`.
    private mutating func show(_ form: ValueForm, _ event: String, _ line: BrokerLine) throws -> Bool {
        let part = form.pointer.map { line["fields"]?.object?[$0] } ?? line["value"]
        if line["key"] != nil, let text = form.line(event, line, part, on: console.output) {
            try pending.add(bytes: text)
            return true
        }
        guard let part, form.format == nil else { return false }
        try pending.add(bytes: form.line(part, on: console.output))
        return true
    }

    /// `12:03:04.123  update  cart.summary  {"items":3}  by price-indicator, revision 813`.
    mutating func readable(_ event: String, _ line: BrokerLine, at time: String) -> String {
        let paint = console.output.paint
        let isInitial = line["initial"]?.bool == true
        if isInitial { initial += 1 }
        let verb = colour(event, isInitial, TextLayout.padded(isInitial ? "value" : event, 6), paint)
        if event == "lagged" { return "\(paint.dim(time))  \(verb)  \(gap(line))" }
        let key = Printable.text(line["key"]?.string ?? "")
        widest = min(Self.keyColumnsMax, max(widest, key.count))
        let columns = [
            paint.dim(time), verb, paint.bold(TextLayout.padded(key, widest)),
            change(event, line, paint), paint.dim(origin(line)),
        ]
        return columns.filter { !$0.isEmpty }.joined(separator: "  ")
    }

    /// The writer, and the other members of the event.
    private func origin(_ line: BrokerLine) -> String {
        let parts = [
            "by \(WriterText.of(line["by"], line["origin"]))",
            "revision \(line["revision"]?.text ?? "?")",
            line["cause"].map { "because of \($0.text)" },
            line["reason"]?.string.map(Printable.text),
            line["skipped"].map { "\($0.text) before it skipped" },
            line["unacked"]?.strings.map { "not waiting for \(Printable.text($0.joined(separator: ", ")))" },
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }

    private func gap(_ line: BrokerLine) -> String {
        let places = "revisions \(line["first"]?.text ?? "?") to \(line["last"]?.text ?? "?")"
        return "\(line["dropped"]?.text ?? "?") events are missing here, \(places)"
    }

    private func change(_ event: String, _ line: BrokerLine, _ paint: Paint) -> String {
        let gone = line["gone"]?.strings.map { "without \(Printable.text($0.joined(separator: " ")))" }
        let parts = [
            line["value"].map(shown), line["fields"].map(shown), gone,
            line["patch"].map { "merge \(shown($0))" },
            line["old"].map { paint.dim("was \(shown($0))") },
        ]
        return parts.compactMap { $0 }.joined(separator: "  ")
    }

    private func shown(_ value: JSONValue) -> String {
        Printable.shortened(Printable.json(value.bytes), to: Self.valueCharactersMax)
    }

    private func colour(_ event: String, _ isInitial: Bool, _ verb: String, _ paint: Paint) -> String {
        switch event {
        case "update": isInitial ? paint.dim(verb) : paint.green(verb)
        case "emit": paint.yellow(verb)
        case "delete", "leave", "lagged": paint.red(verb)
        default: verb
        }
    }

    private func greet() {
        let count = initial == 0 ? "no value yet" : "\(initial) \(initial == 1 ? "value" : "values") so far"
        console.say("\(count); waiting for changes, Ctrl-C ends")
    }
}
