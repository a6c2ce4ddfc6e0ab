// The output of `up` for a person: each line begins with the name of its writer. The names are in one column,
// each in its own colour. On a terminal, a line is cut to one row.

import PlugboardWire

/// Prints the lines of many children.
final class UpView {
    /// Whether standard output has lost its reader. Then nothing more is printed.
    private(set) var isReaderGone = false
    /// The path of the bus.
    let socket: String
    private let console: CommandConsole
    /// Whether lines are shown whole.
    private let isVerbose: Bool
    private var widest = 0
    private var places: [String: Int] = [:]

    /// `names` are the names of the writers of lines.
    init(console: CommandConsole, socket: String, names: [String], isVerbose: Bool = false) {
        self.socket = socket
        self.console = console
        self.isVerbose = isVerbose
        expect(names)
    }

    /// Adds names of writers.
    func expect(_ names: [String]) {
        widest = max(widest, names.map { DisplayWidth.of(Printable.text($0)) }.max() ?? 0)
        for name in names where places[name] == nil { places[name] = places.count }
    }

    /// Prints the output of a child.
    func show(_ lines: [String], of name: String) {
        guard !isReaderGone, !lines.isEmpty else { return }
        let paint = console.output.paint
        let prefix = prefix(name, paint)
        do {
            let shown = lines.flatMap { rows(of: $0, by: name, paint) }
            try console.output.text(shown.map { "\(prefix)\($0)\n" }.joined())
        } catch {
            isReaderGone = true
        }
    }

    /// A line as rows of the terminal, if there is one. The demo's words continue in the next row, and the address
    /// that it prints stays whole, so that one can click on it. Any other line is cut, because it may be as long as
    /// a value.
    private func rows(of line: String, by name: String, _ paint: Paint) -> [String] {
        let isDemo = name == DemoScript.processName
        if isDemo, line.hasPrefix(DashboardPage.addressStart) { return [line] }
        let isNarrated = isDemo && line.hasPrefix("#")
        let columns = isVerbose ? nil : console.output.stream.columns
        let room = columns.map { max(Self.roomMin, $0 - widest - Self.markColumns) }
        if isNarrated {
            return (room.map { TextLayout.wrapped(line, width: $0) } ?? [line]).map(paint.bold)
        }
        return [room.map { DisplayWidth.shortened(Self.withoutTabs(line), $0) } ?? line]
    }

    /// The width of a tab depends on its column, so tabs become spaces.
    private static func withoutTabs(_ line: String) -> String {
        line.split(separator: "\t", omittingEmptySubsequences: false).joined(separator: "    ")
    }

    /// Prints a message of `up` about a child.
    func tell(_ text: String, of name: String) {
        let paint = console.messages.paint
        try? console.messages.line(prefix(name, paint) + paint.yellow(Printable.text(text)))
    }

    /// Ends the line on which a terminal shows `^C`.
    func interrupted() {
        if console.messages.isTerminal { try? console.messages.text("\n") }
    }

    /// Prints a message of `up`.
    func say(_ text: String) {
        console.say(text)
    }

    /// Prints the greeting: the path of the bus, and how to look at it.
    func greet(plugins: String, hasDashboard: Bool) {
        let paint = console.messages.paint
        let command = "\(Program.spelling) dashboard" + CommandOption.socketWords(socket)
        let page = hasDashboard ? "\n  page     \(paint.cyan(Printable.text(command)))" : ""
        try? console.messages.text(
            """
            \(paint.bold("Plugboard is up.")) \(Printable.text(plugins))
              socket   \(Printable.text(socket))
              attach   \(paint.cyan(Printable.text(HelpText.handLine(path: socket))))   then type: help
              watch    \(paint.cyan(Printable.text("\(Program.spelling) subscribe '**'" + CommandOption.socketWords(socket))))\(page)
              stop     Ctrl-C


            """
        )
    }

    /// The text between a name and its line.
    private static let markColumns = 3
    /// The least number of columns that a line gets, on any terminal.
    private static let roomMin = 16

    private func prefix(_ name: String, _ paint: Paint) -> String {
        let padded = TextLayout.padded(Printable.text(name), widest)
        return "\(paint.wheel(places[name] ?? 0, padded)) \(paint.dim("|")) "
    }
}
