// The folder for the plugins' own files in one `up`. If the bus has a journal, the folder is beside
// it and stays. Otherwise, as in a demo, it goes with `up`.

import PlugboardJournal
import PlugboardPosix
import PlugboardWire

/// The folder for the plugins' own files.
struct PluginState {
    /// The folder's absolute path. The folder exists before the plugins start.
    let path: String
    /// Whether these files are kept. They are if the bus has a journal.
    let isKept: Bool

    init(_ invocation: Invocation, socket: String) {
        let isFresh = invocation.has(.demo) && invocation.text(.state) == nil
        isKept = !invocation.has(.memory) && !isFresh
        let journal =
            invocation.text(.state).map { Self.absolute($0) } ?? JournalFolder.standard(forSocket: socket)
        // Without a home folder nothing is kept, unless an option names a place.
        path = (journal ?? socket) + (isKept ? ".plugins" : ".passing")
    }

    /// Makes the folder. If nothing is kept, it first removes what a killed `up` has left. Throws if this
    /// user alone can't have it: whoever made it first could read what the plugins write of the bus.
    func make() throws {
        if !isKept { Folder.remove(path) }
        do {
            _ = try DataFolder(path: path)
        } catch {
            throw CommandError(
                .refused,
                "the plugins have no folder for their files: \(error)",
                hints: ["it has to belong to this user, and nobody else may write to it"]
            )
        }
    }

    /// Removes the folder if it isn't kept. Call it when the plugins have ended.
    func end() {
        if !isKept { Folder.remove(path) }
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : Folder.current() + "/" + path
    }
}
