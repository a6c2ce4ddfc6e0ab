// An empty file whose name says which segment is the newest. Nothing follows the newest segment, so
// without a signpost nobody would notice that it is lost. The writer renames the signpost when a segment
// has begun, before anybody hears of its records. Both names get to disk together, so a crash loses both
// or neither. The name also identifies the machine's start, because while the machine runs, a segment
// that has begun can't get lost.

import PlugboardMemory
import PlugboardPosix

/// What the name of a signpost says.
struct Signpost: Equatable {
    let segment: UInt64
    /// Whether the broker ended in order: then the segment's last line says so and is on disk.
    var isClosed = false
    /// A checksum of the machine's start during which the segment began; nil if the name lacks it.
    var boot: UInt32?

    static func mark(ofBoot boot: String) -> UInt32? {
        boot.isEmpty ? nil : boot.withBytes { Checksum.extended(0, by: $0) }
    }

    var name: String { JournalFiles.signpost(self) }
}

extension FileStore {
    /// Renames, creates or removes the signpost. Nil means that there is none.
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
    /// Notes in the signpost that the present segment has begun, or has ended in order. If that fails,
    /// the old signpost stays, and the next turn tries again.
    func turnSignpost(isClosed: Bool = false) {
        let mark = isClosed ? nil : Signpost.mark(ofBoot: boot)
        let new = Signpost(segment: segment, isClosed: isClosed, boot: mark)
        guard (try? store.turn(signpost, to: new)) != nil else { return }
        signpost = new
        // The next sync must bring the new name to disk.
        isFileNew = true
    }
}
