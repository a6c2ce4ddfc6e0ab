// The plugin around the server: it opens the place, starts the server's thread, leaves the address where
// its user finds it, and answers who asks for the dashboard to be there.

import PlugboardClient
import PlugboardPosix
import PlugboardWire

/// A running dashboard.
struct Dashboard {
    /// The call that starts a dashboard on demand: the answer comes when it serves.
    static let call = "dashboard.open"

    private let configuration: WebConfiguration
    private let file: AddressFile
    private let address: String
    private let socket: (path: String, file: FileIdentity?)?
    private let opener: String?

    init(_ arguments: PluginArguments, bus: Bus) throws {
        let listening = try WebListening(arguments)
        let token = WebToken()
        socket = listening.socket.map { ($0, FileIdentity(path: $0)) }
        opener = arguments.text(DashboardProgram.browser)
        address = listening.address + "#\(token.text)"
        configuration = try WebConfiguration(
            listener: listening.take(),
            gate: PageGate(place: listening.place, token: token),
            broker: bus.path,
            users: try TrustedUsers(naming: arguments.peer),
            name: arguments.name,
            writes: arguments.has(DashboardProgram.write)
        )
        file = AddressFile(socket: bus.path, address: address)
        try Background.start { [configuration] in
            do {
                try WebServer(configuration).run()
            } catch {
                Console.warn("\(error)")
                exit(1)
            }
        }
    }

    /// Answers calls until the plugin is stopped.
    func run(_ bus: Bus) async throws {
        var serving: (any Sendable)?
        bus.health(.well)
        do {
            serving = try await bus.serve(Self.call) { [file] (_: Call) in
                try file.write()
                return ["file": file.path]
            }
            try file.write()
        } catch let error as BusError where error.isConflict {
            let message = "another dashboard serves this bus, too"
            Console.warn(message)
            bus.health(.degraded, "\(message): plugboard dashboard opens that one")
        }
        // What a plugin prints is kept in its log, where the token must not stand.
        let isSupervised = SocketPath.variable("PLUGBOARD_PROGRAM") != nil
        Console.say(isSupervised ? "serving; plugboard dashboard prints the address" : address)
        showInBrowser()
        await bus.waitUntilStopped()
        withExtendedLifetime(serving) {}
    }

    /// Starts the program that is to open the page, if one is given.
    private func showInBrowser() {
        guard let opener else { return }
        let page = file.signpost.hasPrefix("/") ? file.signpost : Folder.current() + "/" + file.signpost
        do {
            // The browser that it starts outlives it, and this plugin.
            try ChildProcess(starting: ChildStart(program: opener, arguments: [page])).letGo()
        } catch {
            Console.warn("\(opener): \(error)")
        }
    }

    func end() {
        configuration.wakeup.signal()
        file.remove()
        // Another program may have made another one there since.
        if let socket, FileIdentity(path: socket.path) == socket.file { UnixSocket.remove(path: socket.path) }
    }
}

/// An open place to listen at.
private final class WebListening {
    let place: WebPlace
    /// The page's address without the token.
    let address: String
    /// The path of the Unix socket, if it is one.
    let socket: String?
    private var number: Int32

    init(_ arguments: PluginArguments) throws {
        guard let text = arguments.text(DashboardProgram.listen) else {
            let listener = try LoopbackSocket.listen(
                port: UInt16(arguments.integer(DashboardProgram.port) ?? 0)
            )
            let port = LoopbackSocket.port(of: listener.raw) ?? 0
            (place, address, socket) = (.port(port), "http://127.0.0.1:\(port)/", nil)
            number = listener.release()
            return
        }
        guard text.hasPrefix("unix:"), text.utf8.count > 5, !arguments.has(DashboardProgram.port) else {
            Console.warn("dashboard: --listen takes unix:PATH, and excludes --port")
            exit(64)
        }
        let path = String(text.dropFirst("unix:".count))
        let listener = try UnixSocket.listen(path: path)
        (place, address, socket) = (.socket(path), "http://localhost:PORT/", path)
        number = listener.release()
    }

    /// The listener. Call it once.
    func take() -> Descriptor { Descriptor(adopting: number) }
}
