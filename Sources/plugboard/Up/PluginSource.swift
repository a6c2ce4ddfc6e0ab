// Where the plugins of `up` come from: their folders. `up` reads them when it begins, at each start
// of a plugin, and on request.

import PlugboardPosix

/// The folder of plugins, and how to start the plugins in it.
struct PluginSource {
    /// The folder from `--plugins`.
    var given: String?
    /// The names of the plugins to run. Empty means all.
    var names: [String] = []
    /// Whether `demo_arguments` are added.
    var isDemo = false
    /// The path of this program.
    let executable: String
    let launcher: ChildLauncher

    /// All plugins that are there now; nil if there is no folder of plugins.
    func read() throws -> PluginFolder? {
        try PluginFolder.find(given: given, executable: executable).map {
            try PluginFolder(path: $0, executable: executable)
        }
    }

    /// Of these plugins, those that `up` should run.
    func chosen(of folder: PluginFolder?) -> [PluginProgram] {
        folder?.plugins.filter { names.isEmpty || names.contains($0.name) } ?? []
    }

    /// The present terms in a child's plugin.json; nil for a child that isn't a plugin. Throws a
    /// `PluginProblem` if they can't be applied.
    func terms(of process: SupervisedProcess) throws(PluginProblem) -> ProcessSpec? {
        guard process.permission != nil, let folder = process.terms.start.folder else { return nil }
        let plugin = try PluginFolder.plugin(in: folder, executable: executable)
        guard plugin.name == process.name else {
            throw PluginProblem(
                place: PluginFolder.file(in: folder),
                message: "its name is \"\(plugin.name)\" now: plugins reload goes by that"
            )
        }
        return terms(of: plugin)
    }

    func process(_ plugin: PluginProgram) -> SupervisedProcess {
        SupervisedProcess(name: plugin.name, terms: terms(of: plugin))
    }

    func terms(of plugin: PluginProgram) -> ProcessSpec {
        let manifest = plugin.manifest
        return ProcessSpec(
            start: launcher.start(
                plugin.program,
                manifest.arguments + (isDemo ? manifest.demoArguments : []),
                name: plugin.name,
                folder: plugin.folder,
                isPlugin: true
            ),
            rule: manifest.restart,
            permission: manifest.permission,
            idleSeconds: manifest.start == .demand
                ? manifest.idleSeconds ?? SupervisedProcess.idleSecondsDefault : nil,
            isOff: manifest.start == .never
        )
    }
}

/// The settings that all children of one `up` have in common.
struct ChildLauncher {
    let executable: String
    let socket: String
    /// The folder for the plugins' own files.
    let stateFolder: String
    /// Whether plugins should print everything.
    var isVerbose = false

    /// The start of a program through `plugboard launch`. A plugin is held until the broker knows
    /// it.
    func start(
        _ program: String, _ arguments: [String], name: String, folder: String? = nil, isPlugin: Bool = false
    ) -> ChildStart {
        var environment = Environment.all(with: [
            "PLUGBOARD_SOCKET": socket, "PLUGBOARD_NAME": name, "PLUGBOARD_PROGRAM": executable,
            "PLUGBOARD_STATE": stateFolder,
        ])
        if isVerbose { environment.append("PLUGBOARD_VERBOSE=1") }
        return Command.launching(
            program,
            arguments,
            through: executable,
            environment: environment,
            folder: folder,
            socket: isPlugin ? socket : nil
        )
    }
}
