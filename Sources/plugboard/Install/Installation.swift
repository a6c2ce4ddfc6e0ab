// The copies that `install` makes: the command and the plugins below a prefix such as ~/.local. The
// command itself is beside its plugins, where it finds them, and `bin` has a link to it. A list of
// the copied files is beside it, so that `--remove` removes all of them, and nothing else.

import PlugboardPosix

/// Copies below a prefix.
struct Installation {
    private static let home = "lib/plugboard"
    private static let link = "bin/plugboard"
    private static let linkTarget = "../lib/plugboard/plugboard"
    private static let program = "\(home)/plugboard"
    private static let plugins = "\(home)/plugins"
    private static let list = "\(home)/installed.txt"
    private static let listBytesMax = 1 << 20
    /// Files of a plugin, so that a wrong folder isn't copied as a whole.
    private static let filesMax = 1_000

    /// The prefix as an absolute path.
    let prefix: String

    /// A copy to make: its source, and its path below the prefix.
    struct Copy {
        let from: String
        let to: String
        /// Whether it is this program by another name, so that a link is enough.
        var isProgram = false
    }

    /// The path of the installed command.
    var command: String { path(Self.link) }
    /// The folder that must be in PATH.
    var bin: String { SocketPath.folder(of: command) }

    /// The copies to make: this program, the bench and the Python library if they are there, and the plugins
    /// of a folder. Throws if a plugin is broken.
    func copies(program: String, plugins folder: PluginFolder?) throws -> [Copy] {
        var copies = [Copy(from: program, to: Self.program)]
        let bench = SocketPath.folder(of: program) + "/plugboard-bench"
        if FileStatus.isRunnable(path: bench) {
            copies.append(Copy(from: bench, to: "\(Self.home)/plugboard-bench"))
        }
        if let library = PythonLibrary.path(for: program) {
            copies.append(Copy(from: library, to: "\(Self.home)/\(PythonLibrary.fileName)"))
        }
        guard let folder, folder.path != ProgramPath.resolved(path(Self.plugins)) else { return copies }
        if let problem = folder.problems.first {
            throw CommandError(.refused, "\(problem)", hints: ["nothing was installed"])
        }
        let demo = folder.path + "/" + DemoScript.fileName
        if FileStatus(path: demo).kind == .file {
            copies.append(Copy(from: demo, to: "\(Self.plugins)/\(DemoScript.fileName)"))
        }
        for plugin in folder.plugins {
            let place = "\(Self.plugins)/\(plugin.folder.dropFirst(folder.path.count + 1))"
            // A running plugin doesn't need its source files.
            let files = try Self.files(in: plugin.folder).filter {
                !$0.hasSuffix(".swift") || $0 == plugin.manifest.run
            }
            copies += files.map { file in
                let from = "\(plugin.folder)/\(file)"
                let isProgram = FileIdentity(path: from) == FileIdentity(path: program)
                return Copy(from: from, to: "\(place)/\(file)", isProgram: isProgram)
            }
            // A program beside plugboard goes into the plugin's folder, because names such as
            // `cart` don't belong in PATH.
            if !plugin.program.hasPrefix(plugin.folder + "/"), !plugin.manifest.run.contains("/") {
                copies.append(Copy(from: plugin.program, to: "\(place)/\(plugin.manifest.run)"))
            }
        }
        return copies
    }

    /// Everything that `make` writes, in order.
    func paths(_ copies: [Copy]) -> [String] {
        copies.map { path($0.to) } + [command, path(Self.list)]
    }

    /// Makes the copies. Removes earlier copies of the same plugins; other plugins stay.
    func make(_ copies: [Copy]) throws {
        if FileCopy.target(ofLink: command) != Self.linkTarget, FileStatus(path: command).kind != .missing {
            throw CommandError(.refused, "\(command) is there, and plugboard install didn't write it")
        }
        let before = try listed()
        let now = copies.map(\.to) + [Self.link]
        let replaced = Set(copies.compactMap { Self.plugin(of: $0.to) })
        let old = before.filter { file in Self.plugin(of: file).map(replaced.contains) ?? false }
        // The list is written first, so that an interrupted install can be removed as well.
        let kept = Set(before).subtracting(old)
        try write(Set(before).union(now))
        for copy in copies { try place(copy) }
        try makeFolder(bin)
        try FileCopy.link(at: command, to: Self.linkTarget)
        for file in old where !now.contains(file) { try remove(file) }
        try write(kept.union(now))
    }

    /// Removes the copies. Returns how many files it removed.
    func remove() throws -> Int {
        let files = try listed()
        var count = 0
        for file in files {
            if file == Self.link, FileCopy.target(ofLink: command) != Self.linkTarget { continue }
            if try remove(file) { count += 1 }
        }
        try FileCopy.remove(path(Self.list))
        for file in [Self.list, Self.link] { removeEmpty(file, upTo: "") }
        FileCopy.removeIfEmpty(prefix)
        return count
    }

    private func place(_ copy: Copy) throws {
        let to = path(copy.to)
        if let there = FileIdentity(path: to), there == FileIdentity(path: copy.from) { return }
        try makeFolder(SocketPath.folder(of: to))
        guard copy.isProgram else { return try FileCopy.make(of: copy.from, at: to) }
        let depth = copy.to.dropFirst(Self.home.count + 1).count { $0 == "/" }
        try FileCopy.link(at: to, to: String(repeating: "../", count: depth) + Program.name)
    }

    @discardableResult
    private func remove(_ file: String) throws -> Bool {
        let wasThere = try FileCopy.remove(path(file))
        removeEmpty(file, upTo: Self.home)
        return wasThere
    }

    /// Removes the folders of a file that are empty now, within the folder `top` and itself.
    private func removeEmpty(_ file: String, upTo top: String) {
        var parts = file.split(separator: "/").dropLast()
        while !parts.isEmpty {
            let folder = parts.joined(separator: "/")
            guard folder.hasPrefix(top) else { return }
            FileCopy.removeIfEmpty(path(folder))
            parts.removeLast()
        }
    }

    /// The files that were copied before, below the prefix. Other files are skipped.
    private func listed() throws -> [String] {
        guard FileStatus(path: path(Self.list)).kind == .file else { return [] }
        let bytes = try InputFile.contents(path: path(Self.list), limit: Self.listBytesMax)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init).filter { file in
            file == Self.link
                || file.hasPrefix(Self.home + "/") && !file.split(separator: "/").contains("..")
        }
    }

    private func write(_ files: Set<String>) throws {
        try makeFolder(path(Self.home))
        let lines = files.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        try OutputFile.write(lines.map { $0 + "\n" }.joined(), to: path(Self.list))
    }

    /// Other users may run what is in it, also if an administrator's umask keeps them out elsewhere.
    private func makeFolder(_ path: String) throws {
        try Folder.make(path, mode: 0o755, obeyingUmask: false)
    }

    private func path(_ file: String) -> String { prefix == "/" ? "/" + file : "\(prefix)/\(file)" }

    /// `lib/plugboard/plugins/cart/plugin.json` belongs to `cart`.
    static func plugin(of file: String) -> Substring? {
        guard file.hasPrefix(plugins + "/") else { return nil }
        let parts = file.dropFirst(plugins.count + 1).split(separator: "/")
        return parts.count > 1 ? parts[0] : nil
    }

    /// The plain files of a folder and of those in it, by their paths within it.
    private static func files(in folder: String) throws -> [String] {
        var files: [String] = []
        var folders = [""]
        while let part = folders.popLast() {
            for name in try Folder.names(in: folder + "/" + part) where !name.hasPrefix(".") {
                let file = part.isEmpty ? name : "\(part)/\(name)"
                switch FileStatus(path: "\(folder)/\(file)").kind {
                case .file where !file.contains("\n"): files.append(file)
                // A link may lead back to where it is.
                case .folder where FileCopy.target(ofLink: "\(folder)/\(file)") == nil: folders.append(file)
                default: break
                }
                guard files.count + folders.count <= filesMax else {
                    throw CommandError(
                        .refused, "\(folder) has more than \(filesMax) files: that is no plugin"
                    )
                }
            }
        }
        return files
    }
}

/// Folders in which programs are built: the next build removes what is there.
enum BuildFolder {
    /// Whether a program is in the folder where it was built.
    static func holds(_ program: String) -> Bool {
        let folder = SocketPath.folder(of: program)
        let names = folder.split(separator: "/")
        return names.contains(".build") || names.contains("DerivedData")
            || FileStatus(path: "\(folder)/\(Program.name).build").kind == .folder
    }
}
