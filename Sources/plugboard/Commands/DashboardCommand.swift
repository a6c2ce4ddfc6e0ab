// `dashboard`: where the page is that shows the bus. The page is the work of a plugin; this starts it if
// need be, and prints the address.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let noBrowser = CommandOption(flag: "no-browser", "only print the address")
}

extension Command {
    static let dashboard = Command(
        name: "dashboard",
        group: .watch,
        summary: "show the bus in a browser: keys, causes, graph, health",
        options: [.noBrowser] + CommandOption.connection,
        details: """
            Prints the address of a page that shows the bus as it changes, and opens it if this is a \
            terminal of a desktop. The page is served by the plugin dashboard, at 127.0.0.1 only. If the \
            plugin isn't running, up starts it, unless somebody has stopped it or it crashed too often: then \
            the status is 1. Where up has no such plugin, or without up, this command becomes the plugin, \
            until Ctrl-C.

            The address ends with a secret: whoever has it can read what is on the bus. The secret is a new \
            one each time the plugin starts. The plugin's own --help has its further options, such as \
            --write. They go into "arguments" of its plugin.json.
            """,
        examples: ["dashboard", "dashboard --no-browser --socket /tmp/shop.sock"],
        run: run
    )

    private static let dashboardProgram = "dashboard"

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let patience = DashboardPage.patienceSeconds + BrokerConnection.timeoutSeconds
        let connection = try BrokerConnection.open(
            invocation, timeout: invocation.seconds(.timeout) ?? patience
        )
        let isShown = !invocation.has(.noBrowser) && console.output.isTerminal
        let opener = isShown ? PageOpener.program() : nil
        guard let address = try DashboardPage.address(connection) else {
            // Only up's own plugin may have that name.
            if let plugin = try connection.plugins()?.first(where: { $0["name"]?.string == dashboardProgram })
            {
                throw notServing(plugin, connection)
            }
            throw becomePlugin(connection, invocation, opener)
        }
        try console.output.line(address)
        guard let opener else { return }
        let page = DashboardPage.signpost(of: connection)
        throw CommandError(.refused, "\(ProgramImage.replace(by: opener, arguments: [page]))")
    }

    private static func notServing(_ plugin: JSONObject, _ connection: BrokerConnection) -> CommandError {
        let words = "plugins start \(dashboardProgram)\(CommandOption.socketWords(connection.path))"
        return CommandError(
            .refused,
            "the plugin \(dashboardProgram) is \(plugin["state"]?.string ?? "not there")",
            hints: ["start it: \(Program.spelling) \(words)"]
        )
    }

    /// Returns only if that failed.
    private static func becomePlugin(
        _ connection: BrokerConnection, _ invocation: Invocation, _ opener: String?
    ) -> CommandError {
        do {
            let beside = SocketPath.folder(of: try ownProgram())
            let places = [
                "\(beside)/\(dashboardProgram)", "\(beside)/plugins/\(dashboardProgram)/\(dashboardProgram)",
            ]
            guard let program = places.first(where: FileStatus.isRunnable) else {
                return CommandError(
                    .unavailable,
                    "nobody serves a dashboard on this bus, and its program isn't beside plugboard",
                    hints: ["in a checkout: swift build -c release"]
                )
            }
            let peer = invocation.text(.peer).map { ["--peer", $0] } ?? []
            let opening = opener.map { ["--open", $0] } ?? []
            let arguments = ["--socket", connection.path] + peer + opening
            return CommandError(.refused, "\(ProgramImage.replace(by: program, arguments: arguments))")
        } catch let error as CommandError {
            return error
        } catch {
            return CommandError(.refused, "\(error)")
        }
    }
}
