// Finds plugins: each folder with a `plugin.json` is one. A broken one is reported, and the others start
// nevertheless.

import PlugboardPosix
import PlugboardWire

/// A plugin that can be started.
struct PluginProgram: Sendable {
    let manifest: PluginManifest
    /// The absolute path of its folder, in which it runs.
    let folder: String
    /// The absolute path of its program.
    let program: String

    var name: String { manifest.name }
}

/// The folder of plugin folders.
struct PluginFolder: Sendable {
    /// The absolute path of the folder.
    let path: String
    /// The plugins, sorted by their names.
    let plugins: [PluginProgram]
    let problems: [PluginProblem]
    /// The same by their folders.
    let broken: [String: PluginProblem]

    /// The folder to use: the given one, or else `plugins` in the current folder, or else `plugins`
    /// beside the executable; nil if there is none.
    static func find(given: String?, executable: String) throws(CommandError) -> String? {
        if let given {
            guard FileStatus(path: given).kind == .folder, let path = ProgramPath.resolved(given) else {
                throw .usage("--plugins \(given): there is no such folder")
            }
            return path
        }
        let places = ["plugins", SocketPath.folder(of: executable) + "/plugins"]
        return places.first { FileStatus(path: $0).kind == .folder }.flatMap { ProgramPath.resolved($0) }
    }

    /// Reads the plugins in `path`. Programs may also be beside `executable`.
    init(path: String, executable: String) throws {
        self.path = path
        var plugins: [String: PluginProgram] = [:]
        var problems: [PluginProblem] = []
        var broken: [String: PluginProblem] = [:]
        for name in try Folder.names(in: path) {
            let folder = path + "/" + name
            let file = Self.file(in: folder)
            guard FileStatus(path: file).kind != .missing else { continue }
            do throws(PluginProblem) {
                let plugin = try Self.plugin(in: folder, executable: executable)
                if let first = plugins[plugin.name] {
                    throw PluginProblem(
                        place: file, message: "the name \"\(plugin.name)\" is taken by \(first.folder)"
                    )
                }
                plugins[plugin.name] = plugin
            } catch {
                problems.append(error)
                broken[folder] = error
            }
        }
        self.plugins = plugins.values.sorted { $0.name < $1.name }
        self.problems = problems
        self.broken = broken
    }

    /// Reads one plugin's folder. Throws a `PluginProblem` for a mistake in it.
    static func plugin(in folder: String, executable: String) throws(PluginProblem) -> PluginProgram {
        let file = file(in: folder)
        let manifest = try PluginManifest(path: file)
        let program = try program(of: manifest, file: file, folder: folder, executable: executable)
        return PluginProgram(manifest: manifest, folder: folder, program: program)
    }

    /// Checks the files that a plugin's folder needs.
    static func file(in folder: String) -> String { folder + "/" + PluginManifest.fileName }

    /// Throws unless there is a plugin of each of these names.
    func check(_ names: [String]) throws(CommandError) {
        for name in names where !plugins.contains(where: { $0.name == name }) {
            if let problem = broken[path + "/" + name] { throw .usage(problem.description) }
            let hint = Suggestion.hint(for: name, among: plugins.map(\.name))
            throw .usage("there is no plugin \"\(name)\" in \(path)", hint: hint ?? available)
        }
    }

    private var available: String {
        plugins.isEmpty ? "there is none at all" : "there are \(plugins.map(\.name).joined(separator: ", "))"
    }

    private static func program(
        of manifest: PluginManifest, file: String, folder: String, executable: String
    ) throws(PluginProblem) -> String {
        let run = manifest.run
        let beside = SocketPath.folder(of: executable)
        var places = [run.hasPrefix("/") ? run : folder + "/" + run]
        if !run.contains("/") {
            // The source folder of a plugin has no program in it. Then the installed program is used.
            let name = folder.split(separator: "/").last ?? ""
            places += ["\(beside)/\(run)", "\(beside)/plugins/\(name)/\(run)"]
        }
        if let place = places.first(where: FileStatus.isRunnable) { return place }
        if let place = places.first(where: { FileStatus(path: $0).kind == .file }) {
            throw PluginProblem(
                place: file, message: "\(place) is not executable; try: chmod +x \(ShellWord.quoted(place))"
            )
        }
        throw PluginProblem(
            place: file,
            message:
                "there is no program \"\(run)\", neither in the plugin's folder nor beside plugboard in \(beside)"
        )
    }
}
