// An empty file whose name says which segment is the newest, so that one that is lost is missed though
// nothing follows it. It gets its next name once that segment has begun, before anybody is told
// of what is in it, and comes to the disk with the segment's own name: where a crash takes that, it
// takes this as well. It also says during which of the machine's starts that was: as long as the
// machine runs, what has begun can't be gone.

import PlugboardMemory
import PlugboardPosix

/// What such a name says.
struct Signpost: Equatable {
    let segment: UInt64
    /// The broker has ended in order: the segment's last line says so, and is on disk.
    var isClosed = false
    /// A mark of the machine's start during which the segment began; nil where that isn't said.
    var boot: UInt32?

    static func mark(ofBoot boot: String) -> UInt32? {
        boot.isEmpty ? nil : boot.withBytes { Checksum.extended(0, by: $0) }
    }

    var name: String { JournalFiles.signpost(self) }
}

extension FileStore {
    /// Turns the signpost from one place to the other; nil: there is none.
    func turn(_ old: Signpost?, to new: Signpost?) throws {
        switch (old, new) {
        case (let old?, let new?): if old != new { try rename(old.name, to: new.name) }
        case (let old?, nil): try remove(old.name)
        case (nil, let new?): _ = try create(new.name)
        case (nil, nil): break
        }
    }
}

extension JournalWriter {
    /// Notes that the present segment has begun, or ended in order. Where that can't be noted, the
    /// place before it stays noted, and it is tried again with the next turn.
    func turnSignpost(isClosed: Bool = false) {
        let mark = isClosed ? nil : Signpost.mark(ofBoot: boot)
        let new = Signpost(segment: segment, isClosed: isClosed, boot: mark)
        guard (try? store.turn(signpost, to: new)) != nil else { return }
        signpost = new
        // The name has to come to the disk, too.
        isFileNew = true
    }
}
