// `install`: copies the command and the plugins to a lasting place, and lets this user's service
// manager start the bus.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let prefix = CommandOption("prefix", "DIR", "copy to DIR/bin and DIR/lib (~/.local)")
    static let remove = CommandOption(flag: "remove", "remove what was installed")
    static let user = CommandOption(flag: "user", "write the files for this user's service manager instead")
    static let printing = CommandOption(flag: "print", "print what would be written, and write nothing")
    static let installedPlugins = CommandOption(
        "plugins", "DIR", "the plugins to copy; with --user: run plugboard up with this folder"
    )
    static let manager = CommandOption(
        "for",
        "MANAGER",
        "systemd or launchd; by default that of this system",
        .choice(ServiceManager.allCases.map(\.rawValue))
    )
}

extension Command {
    static let install = Command(
        name: "install",
        group: .operate,
        summary: "copy plugboard and plugins to ~/.local, or have the bus started",
        forms: ["", "--user"],
        options: [.prefix, .installedPlugins, .user, .manager, .socket, .printing, .remove],
        details: """
            Copies this program and the plugins (of --plugins, or else plugins here, or else those beside \
            this program) to ~/.local. The command is ~/.local/bin/plugboard, and plugboard up finds the \
            plugins from any folder. If you install again, it replaces what is there. A running broker \
            goes on; plugboard restart makes it begin anew as the new program. --remove removes all of \
            that, and folders that are empty then, and nothing else.

            With --user the service manager starts this program: plugboard broker, or with --plugins \
            plugboard up. It starts when the user logs in, and again after a failure. The command writes \
            the files and prints what you have to type to activate them; it starts nothing. It refuses a \
            program in a build folder, because the next build removes it. It leaves alone a file that \
            somebody else wrote.

            For systemd the files are plugboard.service and plugboard.socket in ~/.config/systemd/user; \
            for launchd, ~/Library/LaunchAgents/org.plugboard.bus.plist. systemd makes the socket, so that \
            programs can connect at any time. It learns when the bus is ready, and restarts it when it \
            hangs. (With launchd, programs that start earlier wait for the socket.)
            """,
        examples: [
            "install", "install --prefix /usr/local --plugins ~/shop/plugins", "install --remove",
            "install --user", "install --user --print --plugins ~/shop/plugins", "install --user --remove",
        ],
        run: { invocation, console in
            if invocation.has(.user) {
                try ServiceInstall(invocation, console).run()
            } else {
                try CopyInstall(invocation, console).run()
            }
        }
    )

    static func ownProgram() throws -> String {
        guard let program = ProgramPath.current() else {
            throw CommandError(.refused, "this system doesn't tell where plugboard is")
        }
        return program
    }

    fileprivate static func home() throws -> String {
        guard let home = SocketPath.variable("HOME"), home.hasPrefix("/") else {
            throw CommandError(.refused, "where to? HOME isn't set")
        }
        return home
    }
}

/// Copies the program, or removes the copies.
private struct CopyInstall {
    private let invocation: Invocation
    private let console: CommandConsole
    private let installation: Installation

    init(_ invocation: Invocation, _ console: CommandConsole) throws {
        for option in [CommandOption.manager, .socket] where invocation.has(option) {
            throw CommandError.usage("--\(option.name) goes with --user")
        }
        self.invocation = invocation
        self.console = console
        guard let prefix = invocation.text(.prefix) else {
            installation = Installation(prefix: try Command.home() + "/.local")
            return
        }
        installation = Installation(prefix: prefix.hasPrefix("/") ? prefix : Folder.current() + "/" + prefix)
    }

    func run() throws {
        if invocation.has(.remove) { return try remove() }
        let program = try Command.ownProgram()
        let place = try PluginFolder.find(given: invocation.text(.installedPlugins), executable: program)
        let folder = try place.map { try PluginFolder(path: $0, executable: program) }
        let copies = try installation.copies(program: program, plugins: folder)
        if invocation.has(.printing) {
            for path in installation.paths(copies) { try console.output.line(Printable.text(path)) }
            return
        }
        try installation.make(copies)
        let isCopied = copies.contains { Installation.plugin(of: $0.to) != nil }
        let names = isCopied ? folder?.plugins.map(\.name) ?? [] : []
        let plugins = names.isEmpty ? "" : ", with \(names.joined(separator: ", "))"
        try console.output.line(Printable.text("installed: \(installation.command)\(plugins)"))
        if folder == nil {
            console.say("there is no folder plugins here, so that none were copied; --plugins DIR names one")
        }
        let folders = (SocketPath.variable("PATH") ?? "").split(separator: ":")
        if !folders.contains(where: { $0 == installation.bin }) {
            console.say(
                "\(installation.bin) is not in PATH: by its name alone the shell doesn't find it there"
            )
        }
    }

    private func remove() throws {
        for option in [CommandOption.printing, .installedPlugins] where invocation.has(option) {
            throw CommandError.usage("--\(option.name) and --remove don't go together")
        }
        let count = try installation.remove()
        guard count > 0 else {
            throw CommandError(.refused, "plugboard install has nothing below \(installation.prefix)")
        }
        let files = "\(count) \(count == 1 ? "file" : "files")"
        try console.output.line(Printable.text("removed: \(files) below \(installation.prefix)"))
    }
}

/// Writes or removes the files of a service manager.
private struct ServiceInstall {
    private static let bytesMax = 65_536

    private let invocation: Invocation
    private let console: CommandConsole
    private let manager: ServiceManager

    init(_ invocation: Invocation, _ console: CommandConsole) throws {
        if invocation.has(.prefix) { throw CommandError.usage("--prefix is for the copies, without --user") }
        self.invocation = invocation
        self.console = console
        manager = invocation.text(.manager).flatMap { ServiceManager(rawValue: $0) } ?? .standard
    }

    func run() throws {
        if invocation.has(.remove) { return try remove() }
        let file = try file()
        if invocation.has(.printing) { return try print(file) }
        let places = try places()
        for (text, path) in [(file.text(for: manager), places.service), (file.socketUnit, places.socket)] {
            guard let path else { continue }
            try write(text, to: path)
            console.say("written: \(path)")
        }
        console.say("to have it run, now and after each login:")
        for line in manager.enabling(path: places.service) { try console.output.line(line) }
    }

    /// The text of each file. A comment in it has its name.
    private func print(_ file: ServiceFile) throws {
        let places = try places()
        try console.output.text(manager.named(file.text(for: manager), places.service))
        if let socket = places.socket {
            try console.output.text("\n" + manager.named(file.socketUnit, socket))
        }
    }

    private func places() throws -> (service: String, socket: String?) {
        let home = try Command.home()
        let configuration = SocketPath.variable("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (
            manager.path(home: home, configuration: configuration),
            manager.socketPath(home: home, configuration: configuration)
        )
    }

    private func file() throws -> ServiceFile {
        let executable = try Command.ownProgram()
        guard !BuildFolder.holds(executable) else {
            throw CommandError(
                .refused,
                "\(executable) lies where it was built, and would be gone with the next build",
                hints: [
                    "first: \(Program.spelling) install", "then:  ~/.local/bin/plugboard install --user",
                ]
            )
        }
        let socket = try invocation.text(.socket).map { path in
            guard path.hasPrefix("/") else {
                throw CommandError.usage("--socket \(path): a service needs the whole path")
            }
            return ["--socket", path]
        }
        // Plugins get 2 seconds to stop, and the broker gets 4.
        guard let plugins = invocation.text(.installedPlugins) else {
            return ServiceFile(
                words: [executable, "broker"] + (socket ?? []),
                socket: invocation.text(.socket),
                stopSeconds: 5
            )
        }
        guard FileStatus(path: plugins).kind == .folder, let folder = ProgramPath.resolved(plugins) else {
            throw CommandError.usage("--plugins \(plugins): there is no such folder")
        }
        if let problem = try PluginFolder(path: folder, executable: executable).problems.first {
            throw CommandError(.refused, "\(problem)", hints: ["nothing was written"])
        }
        return ServiceFile(
            words: [executable, "up", "--plugins", folder] + (socket ?? []),
            socket: invocation.text(.socket),
            stopSeconds: 10
        )
    }

    private func write(_ text: String, to path: String) throws {
        guard try isOwn(path) != false else {
            throw CommandError(.refused, "\(path) is there, and plugboard install didn't write it")
        }
        try Folder.make(SocketPath.folder(of: path))
        try OutputFile.write(text, to: path)
    }

    /// Whether `install` wrote the file; nil if there is no file.
    private func isOwn(_ path: String) throws -> Bool? {
        if FileStatus(path: path).kind == .missing { return nil }
        let there = String(decoding: try InputFile.contents(path: path, limit: Self.bytesMax), as: UTF8.self)
        return there.contains(ServiceFile.mark)
    }

    private func remove() throws {
        for option in [CommandOption.printing, .installedPlugins, .socket] where invocation.has(option) {
            throw CommandError.usage("--\(option.name) and --remove don't go together")
        }
        let places = try places()
        var count = 0
        for path in [places.service, places.socket].compactMap({ $0 }) {
            guard let isOwn = try isOwn(path) else { continue }
            guard isOwn else { throw CommandError(.refused, "plugboard install didn't write \(path)") }
            try FileCopy.remove(path)
            console.say("removed: \(path)")
            count += 1
        }
        guard count > 0 else { throw CommandError(.refused, "plugboard install has no files for \(manager)") }
        for link in manager.links(of: places.service) where FileCopy.target(ofLink: link) != nil {
            try FileCopy.remove(link)
        }
        let folder = SocketPath.folder(of: places.service)
        for link in manager.links(of: places.service) { FileCopy.removeIfEmpty(SocketPath.folder(of: link)) }
        for empty in [folder, SocketPath.folder(of: folder)] { FileCopy.removeIfEmpty(empty) }
        console.say("to have it stop now:")
        for line in manager.disabling() { try console.output.line(line) }
    }
}
