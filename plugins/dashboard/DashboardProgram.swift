// dashboard: serves a page that shows the bus in a browser of this machine.
//
// The page speaks the protocol: GET /events is the broker's own lines as a stream, and each POST /request
// is one line for the broker, and its reply. Each stream has a connection to the broker of its own, so an
// observer on the page is one like any other, and ends with the page. The address has a token, without
// which there is nothing but the empty page.

import PlugboardClient
import PlugboardPosix

/// The whole plugin.
public enum DashboardProgram {
    /// Runs it to its end, with the process's command line.
    @MainActor
    public static func run() async {
        await Plugin.run(arguments) { bus in
            let serving = try Dashboard(arguments, bus: bus)
            defer { serving.end() }
            try await serving.run(bus)
        }
    }

    static let port = PluginOption.integer(
        "port", "N", 1...65_535, "the port at 127.0.0.1; by default a free one"
    )
    static let listen = PluginOption.text(
        "listen", "unix:PATH", "listen at a Unix socket instead, as for ssh -L"
    )
    static let browser = PluginOption.text(
        "open", "PROGRAM", "start this with a page that leads to the address"
    )
    static let write = PluginOption.flag(
        "write", "let the page publish, emit, patch, delete, pause, step, resume"
    )

    static let arguments = PluginArguments.read(
        "dashboard",
        """
        shows the bus as a page in a browser of this machine

        The page has four views: the keys with their values, the clients as a graph, causes and
        effects as they happen, and the broker's health. It loads nothing from elsewhere, and
        it only reads, unless --write is given.

        The page's address ends with a secret, so treat it like a password. Without a
        supervisor, the address is printed; it also stands in a file beside the bus's socket,
        named as that with .dashboard behind it, which only you can read. plugboard dashboard
        prints it.

        With --listen unix:PATH, no port is opened. From another machine then:

          ssh -L 8080:PATH you@here     and in the browser http://localhost:8080/#SECRET
        """,
        options: [port, listen, browser, write]
    )
}
