// The output of `up` for a person: each line begins with the name of its writer. The names are in one column,
// each in its own colour. On a terminal, a line is cut to one row. It never waits for a reader, because `up`
// must look after its children.

import PlugboardPosix
import PlugboardWire

/// Prints the lines of many children.
final class UpView {
    /// Whether standard output has lost its reader. Then nothing more is printed.
    var isReaderGone: Bool { output.isReaderGone }
    /// The path of the bus.
    let socket: String
    private let output: OutputBacklog
    private let messages: OutputBacklog
    /// Whether lines are shown whole.
    private let isVerbose: Bool
    private var widest = 0
    private var places: [String: Int] = [:]

    /// `names` are the names of the writers of lines.
    init(console: CommandConsole, socket: String, names: [String], isVerbose: Bool = false) {
        self.socket = socket
        output = OutputBacklog(console.output)
        messages = OutputBacklog(console.messages)
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
        let paint = output.target.paint
        let prefix = prefix(name, paint)
        let shown = lines.flatMap { rows(of: $0, by: name, paint) }
        output.text(shown.map { "\(prefix)\($0)\n" }.joined())
    }

    /// A line as rows of the terminal, if there is one. The demo's words continue in the next row, and the address
    /// that it prints stays whole, so that one can click on it. Any other line is cut, because it may be as long as
    /// a value.
    private func rows(of line: String, by name: String, _ paint: Paint) -> [String] {
        let isDemo = name == DemoScript.processName
        if isDemo, line.hasPrefix(DashboardPage.addressStart) { return [line] }
        let isNarrated = isDemo && line.hasPrefix("#")
        let columns = isVerbose ? nil : output.target.stream.columns
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
        let paint = messages.target.paint
        messages.line(prefix(name, paint) + paint.yellow(Printable.text(text)))
    }

    /// Ends the line on which a terminal shows `^C`.
    func interrupted() {
        if messages.target.isTerminal { messages.text("\n") }
    }

    /// Prints a message of `up`.
    func say(_ text: String) {
        messages.line(CommandConsole.shown(text))
    }

    /// Prints the greeting: the path of the bus, and how to look at it.
    func greet(plugins: String, hasDashboard: Bool) {
        let paint = messages.target.paint
        let command = "\(Program.spelling) dashboard" + CommandOption.socketWords(socket)
        let page = hasDashboard ? "\n  page     \(paint.cyan(Printable.text(command)))" : ""
        messages.text(
            """
            \(paint.bold("Plugboard is up.")) \(Printable.text(plugins))
              socket   \(CommandConsole.shown(socket))
              attach   \(paint.cyan(Printable.text(HelpText.handLine(path: socket))))   then type: help
              watch    \(paint.cyan(Printable.text("\(Program.spelling) subscribe '**'" + CommandOption.socketWords(socket))))\(page)
              stop     Ctrl-C


            """
        )
    }

    /// Prints what still waits for its readers, and has the poller report when they take more.
    func keepUp(_ poller: any Poller, token: UInt64) throws {
        try output.keepUp(poller, token: token)
        try messages.keepUp(poller, token: token)
    }

    /// Lets the readers come to the end, if there are any.
    func finish() {
        output.finish()
        messages.finish()
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
