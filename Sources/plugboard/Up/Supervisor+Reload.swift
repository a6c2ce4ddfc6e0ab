// Reads all plugin.json files again. New plugins start, plugins that are gone end, and the others
// may do what their file now says. A file that can't be understood changes nothing for its plugin.

import PlugboardPosix
import PlugboardWire

/// The result of a reload.
struct PluginChanges {
    /// The names of new plugins.
    var added: [String] = []
    /// The names of plugins that are gone and are being stopped.
    var removed: [String] = []
    /// The names of plugins with other terms.
    var changed: [String] = []
    /// The names of those among them that still run with the earlier program or arguments.
    var outdated: [String] = []
    /// The files that can't be applied.
    var problems: [String] = []

    var json: [UInt8] {
        ObjectWriter().adding("added", strings: added).adding("removed", strings: removed)
            .adding("changed", strings: changed).adding("outdated", strings: outdated)
            .adding("problems", strings: problems).bytes
    }
}

extension Supervisor {
    /// Reads all files again. Problems are part of the result, and are also reported.
    func reload() throws -> PluginChanges {
        var changes = PluginChanges()
        let folder: PluginFolder?
        do {
            folder = try source.read()
        } catch {
            changes.problems = ["\(error)"]
            view.say("the plugins stay as they are: \(error)")
            return changes
        }
        changes.problems = folder?.problems.map(\.description) ?? []
        for problem in changes.problems { view.say("not taken in: \(problem)") }
        let chosen = source.chosen(of: folder)
        try dismiss(allBut: Set(chosen.map(\.name)), broken: folder?.broken ?? [:], &changes)
        for plugin in chosen { try take(plugin, &changes) }
        return changes
    }

    private func dismiss(
        allBut names: Set<String>, broken: [String: PluginProblem], _ changes: inout PluginChanges
    ) throws {
        for process in plugins where !names.contains(process.name) && !process.isLeaving {
            if let folder = process.terms.start.folder, let problem = broken[folder] {
                process.problem = "not taken in: \(problem)"
                desk?.tell(process)
                continue
            }
            changes.removed.append(process.name)
            view.tell("no plugin.json has its name any more: stopping it", of: process.name)
            process.isLeaving = true
            process.stop(graceSeconds: Self.pluginGraceSeconds)
            desk?.tell(process)
        }
        dismissLeaving()
    }

    private func take(_ plugin: PluginProgram, _ changes: inout PluginChanges) throws {
        guard let process = plugins.first(where: { $0.name == plugin.name }) else {
            changes.added.append(plugin.name)
            view.tell("is new", of: plugin.name)
            return try add(source.process(plugin))
        }
        let (before, terms) = (process.terms, source.terms(of: plugin))
        process.problem = nil
        guard process.isLeaving || terms.differs(from: before) else {
            desk?.tell(process)
            return
        }
        changes.changed.append(plugin.name)
        if process.isAlive, terms.startsOtherwise(than: before) { changes.outdated.append(plugin.name) }
        let isToStart = process.adopt(terms)
        if process.isLeaving {
            process.isLeaving = false
            process.stop(graceSeconds: Self.pluginGraceSeconds, thenBegin: true)
        }
        if isToStart { try start(process) } else { desk?.tell(process) }
    }
}
