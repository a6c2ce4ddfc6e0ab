// Events as lines: as they came for a program, in columns for a person.

import PlugboardPosix

/// Prints the events of one subscription.
struct EventView {
    /// Characters of a value that a readable line shows.
    private static let valueCharactersMax = 2_000
    private static let keyColumnsMax = 32

    private let console: Console
    private let isReadable: Bool
    private var pending: PendingOutput
    private var widest = 0
    private var initial = 0

    init(console: Console, asJSON: Bool) {
        self.console = console
        pending = PendingOutput(console.output)
        isReadable = console.output.isTerminal && !asJSON
    }

    /// Writes what was shown, before the next event is waited for.
    mutating func flush() throws {
        try pending.flush()
    }

    /// Takes a line of the broker; true where it was a change or a value.
    mutating func show(_ line: BrokerLine) throws -> Bool {
        guard case .event(let name) = line.kind else { return false }
        guard isReadable else {
            try pending.add(json: line.bytes)
            return name != "synced"
        }
        if name == "synced" {
            try pending.flush()
            greet()
            return false
        }
        try pending.add(line: readable(name, line, at: WallClock.now()))
        return true
    }

    /// `12:03:04.123  update  cart.summary  {"items":3}  by price-indicator, revision 813`.
    mutating func readable(_ event: String, _ line: BrokerLine, at time: WallClock) -> String {
        let paint = console.output.paint
        let isInitial = line["initial"]?.bool == true
        if isInitial { initial += 1 }
        let key = Printable.text(line["key"]?.string ?? "")
        widest = min(Self.keyColumnsMax, max(widest, key.count))
        let verb = HelpText.padded(isInitial ? "value" : event, 6)
        let columns = [
            paint.dim(time.description),
            colour(event, isInitial, verb, paint),
            paint.bold(HelpText.padded(key, widest)),
            change(event, line, paint),
            paint.dim(
                "by \(Printable.text(line["by"]?.string ?? "?")), revision \(line["revision"]?.text ?? "?")"
            ),
        ]
        return columns.filter { !$0.isEmpty }.joined(separator: "  ")
    }

    private func change(_ event: String, _ line: BrokerLine, _ paint: Paint) -> String {
        let value = line["value"].map(shown) ?? ""
        guard let old = line["old"] else { return value }
        return event == "delete"
            ? paint.dim("was \(shown(old))") : "\(value)  \(paint.dim("was \(shown(old))"))"
    }

    private func shown(_ value: JSONValue) -> String {
        Printable.shortened(Printable.json(value.bytes), to: Self.valueCharactersMax)
    }

    private func colour(_ event: String, _ isInitial: Bool, _ verb: String, _ paint: Paint) -> String {
        switch event {
        case "update": isInitial ? paint.dim(verb) : paint.green(verb)
        case "emit": paint.yellow(verb)
        case "delete": paint.red(verb)
        default: verb
        }
    }

    private func greet() {
        let count = initial == 0 ? "no value yet" : "\(initial) \(initial == 1 ? "value" : "values") so far"
        console.say("\(count); waiting for changes, Ctrl-C ends")
    }
}
