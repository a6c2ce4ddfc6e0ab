// `install`: has the service manager of this user start the bus.

import PlugboardPosix

extension Option {
    static let user = Option(flag: "user", "for this user; it is the only way, and has to be said")
    static let printing = Option(flag: "print", "print the file, and write nothing")
    static let servicePlugins = Option("plugins", "DIR", "run plugboard up with this folder of plugins")
    static let manager = Option(
        "for",
        "MANAGER",
        "systemd or launchd; else that of this system",
        .choice(ServiceManager.allCases.map(\.rawValue))
    )
}

extension Command {
    static let install = Command(
        name: "install",
        group: .run,
        summary: "write the files with which the service manager starts the bus",
        options: [.user, .printing, .manager, .servicePlugins, .socket],
        details: """
            With --plugins the service is plugboard up with that folder, without it plugboard broker. It \
            begins when the user logs in, and is started again where it failed. The file is written, and \
            what is to be typed so that it takes effect is told; nothing is started. A file of that name \
            that somebody else wrote is left alone.

            For systemd these are plugboard.service and plugboard.socket in ~/.config/systemd/user, for launchd \
            it is ~/Library/LaunchAgents/org.plugboard.bus.plist. systemd makes the socket, so that programs can \
            connect at any time; it is told when the bus is ready, and starts it anew when it hangs. (With \
            launchd, programs that start earlier wait for it.)
            """,
        examples: ["install --user", "install --user --print --plugins ~/shop/plugins"],
        run: run
    )

    private static let bytesMax = 65_536

    private static func run(_ invocation: Invocation, _ console: Console) throws {
        guard invocation.has(.user) else {
            throw CommandError.usage("say --user: it is installed for this user alone")
        }
        let manager = invocation.text(.manager).flatMap { ServiceManager(rawValue: $0) } ?? .standard
        let file = try file(invocation)
        let text = file.text(for: manager)
        if invocation.has(.printing) {
            return try console.output.text(manager == .systemd ? text + "\n" + file.socketUnit : text)
        }
        guard let home = SocketPath.variable("HOME"), home.hasPrefix("/") else {
            throw CommandError(.refused, "where to? HOME isn't set", hints: ["--print prints the file"])
        }
        let configuration = SocketPath.variable("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let path = manager.path(home: home, configuration: configuration)
        let socketPath = manager.socketPath(home: home, configuration: configuration)
        for (text, path) in [(text, path), (file.socketUnit, socketPath)] {
            guard let path else { continue }
            try write(text, to: path)
            console.say("written: \(path)")
        }
        console.say("to have it run, now and after each login:")
        for line in manager.enabling(path: path) { try console.output.line(line) }
    }

    private static func file(_ invocation: Invocation) throws -> ServiceFile {
        guard let executable = ProgramPath.current() else {
            throw CommandError(.refused, "this system doesn't tell where plugboard is")
        }
        let socket = try invocation.text(.socket).map { path in
            guard path.hasPrefix("/") else {
                throw CommandError.usage("--socket \(path): a service needs the whole path")
            }
            return ["--socket", path]
        }
        // Plugins have 2 seconds, the broker has 4.
        guard let plugins = invocation.text(.servicePlugins) else {
            return ServiceFile(
                words: [executable, "broker"] + (socket ?? []),
                socket: invocation.text(.socket),
                stopSeconds: 5
            )
        }
        guard FileStatus(path: plugins).kind == .folder, let folder = ProgramPath.resolved(plugins) else {
            throw CommandError.usage("--plugins \(plugins): there is no such folder")
        }
        return ServiceFile(
            words: [executable, "up", "--plugins", folder] + (socket ?? []),
            socket: invocation.text(.socket),
            stopSeconds: 10
        )
    }

    private static func write(_ text: String, to path: String) throws {
        if FileStatus(path: path).kind != .missing {
            let there = String(decoding: try InputFile.contents(path: path, limit: bytesMax), as: UTF8.self)
            guard there.contains(ServiceFile.mark) else {
                throw CommandError(.refused, "\(path) is there, and plugboard install didn't write it")
            }
        }
        try Folder.make(SocketPath.folder(of: path))
        try OutputFile.write(text, to: path)
    }
}
