// What a person sees of `up`: each line with its writer's name in front, the names
// in one column and in a colour each.

import PlugboardPosix

/// Prints the lines of many children.
final class UpView {
    /// Standard output lost its reader: nothing is printed any more.
    private(set) var isReaderGone = false
    /// Where the bus is.
    let socket: String
    private let console: Console
    private let widest: Int
    private var places: [String: Int] = [:]

    /// `names` are those that will have lines.
    init(console: Console, socket: String, names: [String]) {
        self.socket = socket
        self.console = console
        widest = names.map(\.count).max() ?? 0
        for (index, name) in names.enumerated() { places[name] = index }
    }

    /// What a child printed.
    func show(_ lines: [String], of name: String) {
        guard !isReaderGone, !lines.isEmpty else { return }
        let paint = console.output.paint
        let prefix = prefix(name, paint)
        let isNarrated = name == DemoScript.processName
        do {
            let shown = lines.map { isNarrated && $0.hasPrefix("#") ? paint.bold($0) : $0 }
            try console.output.text(shown.map { "\(prefix)\($0)\n" }.joined())
        } catch {
            isReaderGone = true
        }
    }

    /// What `up` itself has to say of a child.
    func tell(_ text: String, of name: String) {
        let paint = console.messages.paint
        try? console.messages.line(prefix(name, paint) + paint.yellow(Printable.text(text)))
    }

    /// Leaves the line on which a terminal shows `^C`.
    func interrupted() {
        if console.messages.isTerminal { try? console.messages.text("\n") }
    }

    /// What `up` has to say.
    func say(_ text: String) {
        console.say(text)
    }

    /// The first screen: where the bus is, and how to look at it.
    func greet(plugins: String) {
        let paint = console.messages.paint
        try? console.messages.text(
            """
            \(paint.bold("Plugboard is up.")) \(Printable.text(plugins))
              socket   \(Printable.text(socket))
              attach   \(paint.cyan(Printable.text(HelpText.handLine(path: socket))))   then type: help
              watch    \(paint.cyan(Printable.text("\(Program.spelling) subscribe '**'" + Option.socketWords(socket))))
              stop     Ctrl-C


            """
        )
    }

    private func prefix(_ name: String, _ paint: Paint) -> String {
        let padded = HelpText.padded(Printable.text(name), widest)
        return "\(paint.wheel(places[name] ?? 0, padded)) \(paint.dim("|")) "
    }
}
