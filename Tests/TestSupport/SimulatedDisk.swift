// A disk in memory. It can stop at any operation, refuse one, and forget what wasn't synced in time, as
// in a crash of the machine.
//
// Why raw bytes: a read copies megabytes, and byte by byte that takes half of a debug build's time. Both
// sides are lent for the call, and the range of the copy is checked before.

import PlugboardJournal
import PlugboardPosix
import Synchronization

/// The files of one folder, and which parts of them would survive a crash ("safe").
public final class SimulatedDisk: FileStore, @unchecked Sendable {
    /// The contents of a file. What was written since the last sync is known piece by piece.
    public final class Contents: @unchecked Sendable {
        public var bytes: [UInt8] = []
        /// The place of the next bytes. After it there is laid-out room.
        fileprivate var end = 0
        /// The end of the reserved room.
        fileprivate var reservedEnd = 0
        /// The bytes that it takes up.
        fileprivate var room: Int { max(bytes.count, reservedEnd) }
        /// The contents at the last sync.
        fileprivate var safe: [UInt8] = []
        /// What was written since then, and where.
        fileprivate var unsynced: [(offset: Int, bytes: [UInt8])] = []
        /// Whether some bytes will never be safe, because a sync has failed.
        private var isPatchy = false

        fileprivate func write(_ piece: [UInt8], at offset: Int) {
            Self.put(piece, at: offset, into: &bytes)
            unsynced.append((offset, piece))
        }

        fileprivate func copy() -> Contents {
            let copy = Contents()
            (copy.bytes, copy.end, copy.reservedEnd) = (bytes, end, reservedEnd)
            (copy.safe, copy.unsynced, copy.isPatchy) = (safe, unsynced, isPatchy)
            return copy
        }

        fileprivate func makeSafe() {
            if isPatchy {
                for piece in unsynced { Self.put(piece.bytes, at: piece.offset, into: &safe) }
                safe = Array(safe.prefix(bytes.count))
            } else {
                safe = bytes
            }
            unsynced = []
        }

        /// Makes what isn't safe now stay so, although it can be read. The next sync takes it for done.
        fileprivate func failSync() {
            isPatchy = true
            unsynced = []
        }

        /// Bytes that nobody wrote before these are zeros.
        fileprivate static func put(_ piece: [UInt8], at offset: Int, into bytes: inout [UInt8]) {
            let missing = offset + piece.count - bytes.count
            if missing > 0 { bytes += Array(repeating: 0, count: missing) }
            bytes.replaceSubrange(offset..<(offset + piece.count), with: piece)
        }
    }

    public private(set) var files: [String: Contents] = [:]
    private var safeNames: [String: Contents] = [:]
    /// The names after each change since they were last safe.
    private var unsafeNames: [[String: Contents]] = []
    /// The file that each of these changes removed, if any.
    private var unsafeRemovals: [String?] = []
    /// Operations so far.
    public private(set) var operations = 0
    /// The operation during which the machine stops. Nothing works after that.
    public var stopsAt = Int.max
    /// Operations that fail with this error before anything is done.
    public var refusals: [Int: Int32] = [:]
    /// The next operation that isn't a read fails with this error.
    public var nextChangeFails: Int32?
    /// Files whose syncs only pretend (the folder's own name is ""), for tests of the tests.
    public var pretends: (String) -> Bool = { _ in false }
    /// Whether half of a failed write is done.
    public var tearsRefusedWrites = false
    /// The kind of each operation: `write`, `sync`, `rename` and so on.
    public private(set) var kinds: [String] = []
    /// Files that can't be opened for reading.
    public var locked: Set<String> = []
    /// Sees each piece before it is written.
    public var beforeWrite: ([UInt8]) -> Void = { _ in }
    /// Is called before each sync of a file, such as to let time pass.
    public var beforeSync: () -> Void = {}
    /// Room for all files together, in bytes. As few as this hold the journal to its tight bound.
    public var capacity = 1 << 26
    /// Bytes that were written, including laid-out room.
    public private(set) var writtenBytes = 0

    /// Gets, before each operation, the disk that a machine leaves that stops during it, as with `stopsAt`.
    /// One run then shows all its possible stops.
    public var atStop: ((SimulatedDisk) -> Void)?

    public var isStopped: Bool { operations >= stopsAt }

    /// Whether every present file would be complete if the machine stopped now.
    public var isSafe: Bool {
        files.allSatisfy { name, contents in safeNames[name] === contents && contents.unsynced.isEmpty }
    }

    public init() {}

    private init(_ files: [String: Contents]) {
        self.files = files
        safeNames = files
    }

    /// Counts an operation. Throws if it must fail. `atStop` gets the disk of a machine that stops during it
    /// and writes half of `piece`.
    private func step(_ name: String, writing piece: (Contents, [UInt8])? = nil) throws {
        if let atStop { atStop(copy(withHalf: piece)) }
        defer { operations += 1 }
        kinds.append(name)
        if operations >= stopsAt { throw SystemError(code: EIO, operation: "stopped") }
        if let code = refusals[operations] { throw SystemError(code: code, operation: name) }
        if let code = nextChangeFails, name != "list", name != "open" {
            nextChangeFails = nil
            throw SystemError(code: code, operation: name)
        }
    }

    // MARK: Files

    public func names() throws -> [String] {
        try step("list")
        return files.keys.sorted()
    }

    public func open(_ name: String) throws -> any ReadableFile {
        try step("open")
        if locked.contains(name) { throw SystemError(code: EACCES, operation: "open") }
        guard let contents = files[name] else { throw SystemError(code: ENOENT, operation: "open") }
        return Reading(contents.bytes)
    }

    public func sync(_ name: String) throws {
        guard let contents = files[name] else { throw SystemError(code: ENOENT, operation: "open") }
        contents.reservedEnd = 0
        try sync(contents, name)
        try syncNames()
    }

    private func sync(_ contents: Contents, _ name: String) throws {
        beforeSync()
        do {
            try step("sync")
        } catch {
            if !isStopped { contents.failSync() }
            throw error
        }
        if !pretends(name) { contents.makeSafe() }
    }

    public func create(_ name: String) throws -> any AppendableFile {
        try step("create")
        guard files[name] == nil else { throw SystemError(code: EEXIST, operation: "create") }
        if occupied >= capacity { throw SystemError(code: ENOSPC, operation: "create") }
        let contents = Contents()
        files[name] = contents
        noteNames()
        return Appending(self, contents, name)
    }

    public func truncate(_ name: String, to bytes: Int) throws {
        try step("truncate")
        guard let contents = files[name] else { throw SystemError(code: ENOENT, operation: "truncate") }
        contents.bytes.removeSubrange(bytes...)
        contents.reservedEnd = 0
        contents.makeSafe()
    }

    public func rename(_ name: String, to other: String) throws {
        try step("rename")
        guard let contents = files.removeValue(forKey: name) else {
            throw SystemError(code: ENOENT, operation: "rename")
        }
        files[other] = contents
        noteNames()
    }

    public func holds(_ file: any AppendableFile, as name: String) -> Bool {
        (file as? Appending).map { $0.contents === files[name] } ?? true
    }

    public func remove(_ name: String) throws {
        try step("remove")
        guard files.removeValue(forKey: name) != nil else {
            throw SystemError(code: ENOENT, operation: "remove")
        }
        noteNames(removed: name)
    }

    public func syncNames() throws {
        try step("sync names")
        if pretends("") { return }
        safeNames = files
        unsafeNames = []
        unsafeRemovals = []
    }

    private func noteNames(removed: String? = nil) {
        unsafeNames.append(files)
        unsafeRemovals.append(removed)
    }

    public var used: Int { files.values.reduce(0) { $0 + $1.bytes.count } }

    /// The bytes of all files, with reserved room.
    public var occupied: Int { files.values.reduce(0) { $0 + $1.room } }

    public func freeBytes() -> Int? { max(0, capacity - occupied) }

    // MARK: After a crash

    /// The disk after only the program was killed, not the machine. What isn't safe is still there, and
    /// still isn't safe.
    public func afterKill() -> SimulatedDisk { copy() }

    private func copy(withHalf piece: (contents: Contents, bytes: [UInt8])? = nil) -> SimulatedDisk {
        var copies: [ObjectIdentifier: Contents] = [:]
        func copy(_ contents: Contents) -> Contents {
            if let copy = copies[ObjectIdentifier(contents)] { return copy }
            let copy = contents.copy()
            copies[ObjectIdentifier(contents)] = copy
            return copy
        }
        let disk = SimulatedDisk(files.mapValues(copy))
        disk.safeNames = safeNames.mapValues(copy)
        disk.unsafeNames = unsafeNames.map { $0.mapValues(copy) }
        disk.unsafeRemovals = unsafeRemovals
        if let piece {
            let half = Array(piece.bytes.prefix(piece.bytes.count / 2))
            copy(piece.contents).write(half, at: piece.contents.end)
        }
        return disk
    }

    /// The disk after the machine stopped. `choose` gets a number of things and returns how many of them
    /// happened: changes of names, removals before their turn, appends, and how much of each.
    public func afterPowerCut(_ choose: (Int) -> Int) -> SimulatedDisk {
        let states = [safeNames] + unsafeNames
        let count = choose(states.count)
        var names = states[count]
        for case let name? in unsafeRemovals[count...] where choose(2) == 1 { names[name] = nil }
        return SimulatedDisk(names.mapValues { Self.remains(of: $0, choose) })
    }

    /// What is left of a file: each unsafe write is complete, or lost, or its first half. A lost one
    /// shows what was there before, or zeros.
    private static func remains(of contents: Contents, _ choose: (Int) -> Int) -> Contents {
        let copy = Contents()
        copy.bytes = contents.safe
        for piece in contents.unsynced {
            let count = piece.bytes.count
            let kept = [count, 0, count / 2][choose(3)]
            if kept > 0 { Contents.put(Array(piece.bytes.prefix(kept)), at: piece.offset, into: &copy.bytes) }
        }
        copy.makeSafe()
        return copy
    }

    private final class Reading: ReadableFile {
        private let contents: [UInt8]
        public var bytes: Int { contents.count }

        init(_ contents: [UInt8]) {
            self.contents = contents
        }

        func read(at offset: Int, into buffer: inout MutableSpan<UInt8>) throws -> Int {
            let count = max(0, min(buffer.count, contents.count - offset))
            guard count > 0 else { return 0 }
            // In one step, because byte by byte it takes half of a debug build's time.
            unsafe contents.withUnsafeBytes { bytes in
                unsafe buffer.withUnsafeMutableBytes { buffer in
                    unsafe buffer.copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count)])
                    )
                }
            }
            return count
        }
    }

    private final class Appending: AppendableFile, @unchecked Sendable {
        private let disk: SimulatedDisk
        fileprivate let contents: Contents
        private let name: String

        init(_ disk: SimulatedDisk, _ contents: Contents, _ name: String) {
            self.disk = disk
            self.name = name
            self.contents = contents
        }

        func append(_ bytes: Span<UInt8>) throws -> Int {
            let piece = Array(bytes)
            disk.beforeWrite(piece)
            let left = disk.capacity - disk.occupied + contents.room - contents.end
            // If the machine stops during the write, half of it is written.
            let stops = disk.operations == disk.stopsAt
            do { try disk.step("write", writing: (contents, piece)) } catch {
                if stops || disk.tearsRefusedWrites { add(bytes[..<(bytes.count / 2)]) }
                throw error
            }
            if left <= 0 { throw SystemError(code: ENOSPC, operation: "write") }
            add(bytes[..<min(left, bytes.count)])
            return min(bytes.count, left)
        }

        private func add(_ piece: Span<UInt8>) {
            contents.write(Array(piece), at: contents.end)
            contents.end += piece.count
            disk.writtenBytes += piece.count
        }

        func layOut(_ bytes: Int) throws {
            let room = Array(repeating: UInt8(ascii: "\n"), count: bytes)
            do { try disk.step("lay out", writing: (contents, room)) } catch {
                contents.write(Array(room.prefix(bytes / 2)), at: contents.end)
                throw error
            }
            guard hasRoom(bytes) else { throw SystemError(code: ENOSPC, operation: "write") }
            contents.write(room, at: contents.end)
            disk.writtenBytes += bytes
        }

        func reserve(_ bytes: Int) throws {
            try disk.step("reserve")
            guard hasRoom(bytes) else { throw SystemError(code: ENOSPC, operation: "reserve") }
            contents.reservedEnd = max(contents.reservedEnd, contents.end + bytes)
        }

        private func hasRoom(_ bytes: Int) -> Bool {
            max(0, contents.end + bytes - contents.room) <= disk.capacity - disk.occupied
        }

        func releaseRoom() throws {
            try disk.step("release")
            contents.bytes.removeSubrange(contents.end...)
            contents.reservedEnd = 0
        }

        func sync() throws {
            try disk.sync(contents, name)
        }
    }
}

extension SimulatedDisk {
    /// Changes one bit of a file.
    public func flip(_ name: String, bit: Int) {
        files[name]?.bytes[bit / 8] ^= 1 << UInt8(bit % 8)
    }

    /// Makes one byte of a file zero.
    public func blank(_ name: String, byte: Int) {
        files[name]?.bytes[byte] = 0
    }

    /// Shortens a file without the program's knowledge.
    public func shorten(_ name: String, to count: Int) {
        files[name]?.bytes.removeSubrange(count...)
    }

    /// The same text for disks with the same files.
    public var fingerprint: Int {
        var hasher = Hasher()
        for name in files.keys.sorted() {
            let bytes = files[name]?.bytes ?? []
            hasher.combine(name)
            hasher.combine(bytes.count)
            unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        }
        return hasher.finalize()
    }

    public func text(_ name: String) -> String {
        String(decoding: files[name]?.bytes ?? [], as: UTF8.self)
    }
}
