// The folder in which the plugins of one `up` keep files of their own. It is kept where the bus is
// kept, beside the journal; where nothing is, as in a demo, it goes with `up`.

import PlugboardJournal
import PlugboardPosix

/// Where plugins keep what isn't on the bus.
struct PluginState {
    /// Absolute. It is there when the plugins are started.
    let path: String
    /// What is on the bus is kept, too.
    let isKept: Bool

    init(_ invocation: Invocation, socket: String) {
        let isFresh = invocation.has(.demo) && invocation.text(.state) == nil
        isKept = !invocation.has(.memory) && !isFresh
        let journal =
            invocation.text(.state).map { Self.absolute($0) } ?? JournalFolder.standard(forSocket: socket)
        // Without a home nothing is kept but what says otherwise itself.
        path = (journal ?? socket) + (isKept ? ".plugins" : ".passing")
    }

    /// Makes the folder. What another `up` left that was killed is removed, where nothing is kept.
    func make(_ console: Console) {
        do {
            if !isKept { Folder.remove(path) }
            try Folder.make(path)
        } catch {
            console.say("the plugins have no folder for their files: \(error)")
        }
    }

    /// The plugins have ended.
    func end() {
        if !isKept { Folder.remove(path) }
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : Folder.current() + "/" + path
    }
}
