// An empty file whose name says which segment is the newest. So a lost newest segment is
// noticed, although nothing follows it. The file gets its next name when that segment has
// begun, before anybody is told of its records. The name gets to disk together with the
// segment's own: a crash loses both or neither. It also names the machine's start at that
// time, because nothing that has begun is lost while the machine runs.

import PlugboardMemory
import PlugboardPosix

/// What the name of a signpost says.
struct Signpost: Equatable {
    let segment: UInt64
    /// The broker ended in order: the segment's last line says so and is on disk.
    var isClosed = false
    /// A mark of the machine's start during which the segment began; nil if the name doesn't say
    /// it.
    var boot: UInt32?

    static func mark(ofBoot boot: String) -> UInt32? {
        boot.isEmpty ? nil : boot.withBytes { Checksum.extended(0, by: $0) }
    }

    var name: String { JournalFiles.signpost(self) }
}

extension FileStore {
    /// Renames the signpost. Nil means that there is none.
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
    /// Notes that the present segment has begun, or has ended in order. If that fails, the old
    /// signpost stays, and the next turn tries again.
    func turnSignpost(isClosed: Bool = false) {
        let mark = isClosed ? nil : Signpost.mark(ofBoot: boot)
        let new = Signpost(segment: segment, isClosed: isClosed, boot: mark)
        guard (try? store.turn(signpost, to: new)) != nil else { return }
        signpost = new
        // The new name must get to disk as well.
        isFileNew = true
    }
}
