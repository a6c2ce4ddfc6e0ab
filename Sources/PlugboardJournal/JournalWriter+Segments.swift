// Where one segment ends and the next begins, and how the next one's file comes about: made at
// that moment, or beforehand beside the loop.

import PlugboardPosix
import PlugboardWire

extension JournalWriter {
    func header(revision: UInt64, previous: UInt32) -> String {
        FileHeader.text(.segment, segment, epoch: epoch, boot: boot, revision: revision, previous: previous)
    }

    func beginSegment(_ records: inout RecordBuffer, _ revision: UInt64) throws {
        guard let (next, room) = takeNextFile() ?? makeNextFile() else {
            // The old one goes on growing, and it is tried again later.
            segmentEnd += options.segmentBytes
            return
        }
        worker.releaseRoom(of: file)
        ended.append((segment, .file(file, isNew: isFileNew)))
        index.end(bytes: bytes)
        loose = (loose.bytes + bytes, loose.segments + 1)
        (file, isFileNew, bytes, laidOut) = (next, true, 0, (0, 0))
        (segmentBegan, isAwaited) = (time.nanoseconds(), false)
        segmentEnd = options.segmentBytes
        preparationStart = options.segmentBytes / 2
        if roomEnd != nil { roomEnd = room }
        segmentBefore = SnapshotText.End(
            segment: segment,
            epoch: epoch,
            boot: boot,
            revision: revision,
            chain: records.chain,
            when: records.when
        )
        segment += 1
        index.begin(segment, after: revision)
        records.beginFile(header(revision: revision, previous: records.chain))
        try write(&records)
    }

    /// The next segment's file, with room for what comes first.
    private func makeNextFile() -> (any AppendableFile, room: Int)? {
        let name = JournalFiles.segment(segment + 1)
        guard let file = try? store.create(name) else { return nil }
        let room = JournalLimits.reservedBytesMin
        if (try? file.reserve(room)) != nil { return (file, room) }
        try? store.remove(name)
        return nil
    }

    // MARK: The next file

    /// Has the next segment's file made while this one fills, with all the room that it needs: to
    /// find that may take the disk's time. It is laid out, too, where it is wanted soon and nobody
    /// waits for the disk, to which that would have to be brought as well: the system takes twice as
    /// long to find memory for bytes that are new as to change those that it has.
    func prepare() {
        preparationStart = .max
        guard case .none = nextFile, !isFull, roomEnd != nil else { return }
        let isFast = time.nanoseconds() - segmentBegan <= options.fastHalfNanoseconds
        let isLaidOut = isFast && options.sync != .always && !isAwaited
        nextFile = .asked
        worker.prepare(bytes: options.segmentBytes, isLaidOut: isLaidOut)
    }

    /// The file that was made beforehand, under its name.
    private func takeNextFile() -> (any AppendableFile, room: Int)? {
        guard case .ready(let file) = nextFile else { return nil }
        nextFile = .none
        let name = JournalFiles.segment(segment + 1)
        guard (try? store.rename(JournalFiles.next, to: name)) != nil else { return nil }
        return (file, options.segmentBytes + JournalLimits.reservedBytesMax)
    }

    /// Nobody needs it any more. What can't be removed the next recovery removes.
    func removeNextFile() {
        if case .none = nextFile { return }
        nextFile = .none
        try? store.remove(JournalFiles.next)
    }
}

/// The file that the next segment is written to.
enum NextFile {
    /// It is made when it is needed.
    case none
    /// The worker makes it.
    case asked
    case ready(any AppendableFile)
}
